#pragma once
// Checks at the start whether the checkpoints of a run fit on its disk: a full disk later would cost the steps since
// the last save.
#include <cstdint>
#include <string>

#include "ckpt/base/result.h"
#include "libtrain/job/forecast/forecast.h"

namespace titan::recipe {
struct RunPlan;
}

namespace titan::ckpt {
class Fs;
}

namespace titan::train {

using ckpt::Status;

struct SpaceNeed {
  SaveForecast saves;
  std::uint64_t steps_there = 0;  ///< count_kept_steps()
  bool compressed = false;        ///< checkpoints are compressed, so their size is not known
};

struct SpaceVerdict {
  Status refused;       ///< kFailed: a save of this run will certainly fail
  std::string warning;  ///< a save may fail
};

/// Pure. `folder`: the checkpoint folder.
SpaceVerdict judge_space(const SpaceNeed& need, std::uint64_t free, const std::string& folder);

/// The number of steps in the run folder, without step 0, links and pinned steps.
std::uint64_t count_kept_steps(ckpt::Fs& fs, const recipe::Config& config);

/// Judges a run that continues after `start_step`. Leftovers of dead saves count as free space, since a start removes
/// them.
SpaceVerdict look_at_space(ckpt::Fs& fs, const recipe::Config& config, const recipe::RunPlan& plan,
                           std::uint64_t start_step);

}  // namespace titan::train
