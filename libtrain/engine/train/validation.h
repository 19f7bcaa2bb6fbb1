#pragma once
// Loss on held-out data, with the same bits on every layout.
#include <cstdint>
#include <functional>
#include <optional>

#include "libtrain/engine/pipeline/executor.h"
#include "libtrain/job/data/dataset.h"

namespace titan::recipe {
struct Config;
}

namespace titan::train {

/// The result of a validation, the same on every rank.
struct ValidationResult {
  double loss = 0;           ///< mean over tokens, in nats
  std::uint64_t tokens = 0;  ///< number of predicted tokens that have a loss
};

/// Evaluates validation.steps batches of validation.local_batch_size samples (validation.steps = -1: all held-out
/// samples). The last batch is padded to the full shape, since the bits of matrix products depend on the shape; the
/// padding is excluded from the sum. Once `stopped` is true on any rank, all ranks end the validation between two
/// batches, within about a second if batches are short, and return nullopt. Collective. \error StatusError, CommError
std::optional<ValidationResult> run_validation(World& world, Executor& executor, const Dataset& dataset,
                                               const recipe::Config& config, const std::function<bool()>& stopped);

}  // namespace titan::train
