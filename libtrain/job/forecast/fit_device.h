#pragma once
// Finds settings with which a run fits into the memory of its GPUs, for the same number of GPUs. Pure.
#include <string>
#include <vector>

#include "libtrain/job/forecast/device_forecast.h"

namespace titan::recipe {
struct Config;
}

namespace titan::train {

/// A set of changed settings, and what the run would need with them.
struct FittingSettings {
  std::vector<std::string> words;  ///< as typed: "--activation_checkpoint.mode=full"
  std::uint64_t rank_bytes = 0;    ///< memory of the rank that needs most, including the reserve
  double step_seconds = 0;
  bool same_curve = true;  ///< no setting shapes the loss curve, so a started run may use them too
};

struct FittingSearch {
  std::vector<FittingSettings> fits;  ///< at most three, those with the fewest changes, fastest first
  FittingSettings least;              ///< the tried settings that need the least memory
};

/// Tries ZeRO-2, recomputing activations, more stages, loss in chunks and smaller micro-batches, alone and together.
/// The global batch of `plan` does not change. `plan` must be the plan of `config`.
FittingSearch settings_that_fit(const recipe::Config& config, const recipe::RunPlan& plan,
                                const recipe::DeviceFigures& device);

}  // namespace titan::train
