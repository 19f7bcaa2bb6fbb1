#pragma once
// Settings with which a run fits into the memory of its GPUs, on as many of them. Pure.
#include <string>
#include <vector>

#include "libtrain/job/forecast/device_forecast.h"

namespace titan::recipe {
struct Config;
}

namespace titan::train {

/// A few settings that differ from the run's.
struct FittingSettings {
  std::vector<std::string> words;  ///< "--activation_checkpoint.mode=full", as they are typed
  std::uint64_t rank_bytes = 0;    ///< of the rank that needs most, reserve included
  double step_seconds = 0;
  bool same_curve = true;  ///< none of them shapes the curve: a run that has begun may take them as well
};

struct FittingSearch {
  std::vector<FittingSettings> fits;  ///< those with the fewest changes, fastest first; none where nothing fits
  FittingSettings least;              ///< of what was tried, what needs least
};

/// Tries ZeRO-2, computing activations again, more stages, loss in chunks and smaller micro-batches, alone and
/// together, with the batch of `plan` as it is. `plan` is that of `config`.
FittingSearch settings_that_fit(const recipe::Config& config, const recipe::RunPlan& plan,
                                const recipe::DeviceFigures& device);

}  // namespace titan::train
