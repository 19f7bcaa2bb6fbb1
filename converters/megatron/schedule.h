#pragma once
// The LR schedule of a Megatron run. Megatron's scheduler counts samples, Titan's phases count steps. Pure.
// \source megatron-core 0.16.1, optimizer_param_scheduler.py
#include <cstdint>
#include <string>
#include <vector>

#include "ckpt/base/result.h"
#include "ckpt/model/lr.h"

namespace titan::convert::megatron {

/// Values of `opt_param_scheduler` and of the arguments. `warmup`, `decay`, `position` and `wsd_decay` are in samples.
struct Scheduler {
  double init_lr = 0, max_lr = 0, min_lr = 0;
  double warmup = 0, decay = 0, position = 0;
  double wsd_decay = 0;              ///< length of the final decay; only for style WSD
  std::string style = "linear";      ///< "linear", "cosine", "constant", "WSD"
  std::string wsd_style = "linear";  ///< "linear", "cosine", "minus_sqrt"
  bool operator==(const Scheduler&) const = default;
};

/// The schedule of steps after `step`, with `batch` samples each, as phases. `what` names the checkpoint. \error
/// kUnsupported: a style that Titan does not have; kIncompatible: lengths from which no schedule can be made
ckpt::Result<std::vector<ckpt::LrPhase>> phases_of(const std::string& what, const Scheduler& scheduler,
                                                   std::uint64_t step, std::uint64_t batch);

/// Checks that `given`, a configuration's schedule, equals the run's in the steps after `step` and after warm-up, and,
/// if the warm-up has not ended, has one of the same length. At most about 4,096 steps are compared. `skipped`: number
/// of steps in which the run's schedule did not advance. \error kIncompatible naming a step and both rates, or both
/// lengths; the hint has all keys of the run's schedule; as phases_of
ckpt::Status check_curve(const std::string& what, const Scheduler& scheduler, std::uint64_t step, std::uint64_t batch,
                         const ckpt::LrSettings& given, std::uint64_t skipped = 0);

}  // namespace titan::convert::megatron
