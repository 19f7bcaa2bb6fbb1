#pragma once
// parallelism.stage_cost = "measured": the times that `titan-train plan --measure` stored in the run folder.
#include "ckpt/base/result.h"

namespace titan::recipe {
struct Config;
}

namespace titan::ckpt {
class Fs;
}

namespace titan::train {

/// Seconds of forward and backward of a micro-batch.
struct PartTimes {
  double embedding = 0, layer = 0, head = 0;
};

/// "stage_costs.toml" of the run folder.
std::string measured_costs_path(const recipe::Config& config);

/// Stores `times` for the model, precision and micro-batch of `config`, in place of what was there.
ckpt::Status store_measured_costs(ckpt::Fs& fs, const recipe::Config& config, const PartTimes& times);

/// Replaces "measured" by the numbers that are stored, so that ranks compare them and the run's config.toml has them;
/// does nothing where the key says something else. \error kInvalid: nothing is stored, or for something else
ckpt::Status take_measured_costs(ckpt::Fs& fs, recipe::Config& config);

}  // namespace titan::train
