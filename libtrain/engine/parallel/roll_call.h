#pragma once
// Which ranks have arrived at a start. Ranks count themselves in the store, and the last one notifies all. One rank
// looks up for all others who is missing, so that calls to the store grow only linearly with the number of ranks.
#include <chrono>
#include <vector>

#include <torch/csrc/distributed/c10d/Store.hpp>

namespace titan::train {

class RollCall {
 public:
  RollCall(c10d::Store& store, int world) : store_(store), world_(world) {}

  /// Records that `rank` has arrived. Each rank calls it once.
  static void arrive(c10d::Store& store, int rank, int world);
  /// Returns when all have come. Throws after `timeout`, and when the store is lost.
  void wait(std::chrono::milliseconds timeout);
  /// The ranks that have not arrived, as last looked up by any rank; with `exact`, looked up now. Throws if the store
  /// is lost.
  std::vector<int> missing(bool exact);

 private:
  std::vector<int> look_up() const;

  c10d::Store& store_;
  int world_;
  bool asked_ = false, looks_up_ = false;  ///< looks_up_: this rank looks up for the others too
};

}  // namespace titan::train
