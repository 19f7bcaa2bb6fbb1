#pragma once
// How a save ended, and what it cost.
#include <cstdint>

#include "ckpt/base/result.h"
#include "libtrain/engine/checkpoint/checkpointer.h"

namespace titan::train {

/// Seconds of one rank.
struct SaveTimes {
  double snapshot = 0;  ///< to take down all that is not a tensor
  double stall = 0;     ///< of training
  double durable = 0;   ///< from when the save was due until it was durable
};

struct SaveOutcome {
  std::uint64_t step = 0;
  ckpt::Result<SaveReport> report;
  SaveTimes times;
  bool waited_for = false;  ///< training stood still all the time
  bool counts = true;       ///< among the failures in a row that end a run, where it is one
};

}  // namespace titan::train
