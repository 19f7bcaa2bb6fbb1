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

/// Seconds of forward plus backward of one micro-batch: of the embedding, of one layer, of the head with the loss.
struct PartTimes {
  double embedding = 0, layer = 0, head = 0;
};

/// The path of "stage_costs.toml" in the run folder.
std::string measured_costs_path(const recipe::Config& config);

/// Stores `times` for the model, precision and micro-batch of `config`. Replaces stored times.
ckpt::Status store_measured_costs(ckpt::Fs& fs, const recipe::Config& config, const PartTimes& times);

/// Replaces the value "measured" by the stored numbers, so that ranks compare the numbers and the run's config.toml
/// contains them. Does nothing for another value. \error kInvalid: nothing is stored, or times for another model,
/// precision or micro-batch
ckpt::Status take_measured_costs(ckpt::Fs& fs, recipe::Config& config);

}  // namespace titan::train
