#pragma once
// Which ranks have arrived at a start. Each rank that arrives increments a counter in the store, and the last one sets
// the key that all wait for. If ranks are missing, one rank looks up which, and stores the answer for the others: so
// the number of calls to the store grows only linearly with the number of ranks.
#include <chrono>
#include <vector>

#include <torch/csrc/distributed/c10d/Store.hpp>

namespace titan::train {

class RollCall {
 public:
  RollCall(c10d::Store& store, int world) : store_(store), world_(world) {}

  /// Records that `rank` has arrived. Each rank calls it once.
  static void arrive(c10d::Store& store, int rank, int world);
  /// Returns when all ranks have arrived. Throws after `timeout`, and if the store is lost.
  void wait(std::chrono::milliseconds timeout);
  /// The ranks that have not arrived, as last looked up by any rank; with `exact`, as of now. Throws if the store is
  /// lost.
  std::vector<int> missing(bool exact);

 private:
  std::vector<int> look_up() const;

  c10d::Store& store_;
  int world_;
  bool asked_ = false, looks_up_ = false;  ///< missing() was called; this rank looks up the answer for all ranks
};

}  // namespace titan::train
