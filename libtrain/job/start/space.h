#pragma once
// Do the checkpoints of a run fit on its disk? Asked at the start: later it costs the steps since the last save.
#include <cstdint>
#include <string>

#include "ckpt/base/fs.h"
#include "ckpt/base/result.h"
#include "libtrain/job/forecast/forecast.h"
#include "recipe/plan/run_plan.h"

namespace titan::train {

using ckpt::Status;

struct SpaceNeed {
  SaveForecast saves;
  std::uint64_t steps_there = 0;  ///< checkpoints that retention counts
  bool compressed = false;        ///< what a checkpoint will take is not known
};

struct SpaceVerdict {
  Status refused;       ///< kFailed: a save of this run is sure to fail
  std::string warning;  ///< one may fail
};

/// Pure. `folder`: of the steps.
SpaceVerdict judge_space(const SpaceNeed& need, std::uint64_t free, const std::string& folder);

/// Steps in the run's folder that retention counts.
std::uint64_t count_kept_steps(ckpt::Fs& fs, const recipe::Config& config);

/// Judges a run that goes on after `start_step`. What dead saves left there counts as free: a start removes it.
SpaceVerdict look_at_space(ckpt::Fs& fs, const recipe::Config& config, const recipe::RunPlan& plan,
                           std::uint64_t start_step);

}  // namespace titan::train
