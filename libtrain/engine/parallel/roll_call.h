#pragma once
// Who has come to a start: ranks count themselves, and the last one tells all. Names are looked up by one rank for the
// others, so that the calls to the store grow with the number of ranks alone.
#include <chrono>
#include <vector>

#include <torch/csrc/distributed/c10d/Store.hpp>

namespace titan::train {

class RollCall {
 public:
  RollCall(c10d::Store& store, int world) : store_(store), world_(world) {}

  /// This rank has come; once per rank.
  static void arrive(c10d::Store& store, int rank, int world);
  /// Returns when all have come. Throws after `timeout`, and when the store is lost.
  void wait(std::chrono::milliseconds timeout);
  /// The ranks that have not come, as far as another rank has looked them up; with `exact` as it is now. Throws when
  /// the store is lost.
  std::vector<int> missing(bool exact);

 private:
  std::vector<int> look_up() const;

  c10d::Store& store_;
  int world_;
  bool asked_ = false, looks_up_ = false;  ///< for the others, too
};

}  // namespace titan::train
