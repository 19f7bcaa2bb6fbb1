#include "libtrain/train/validation.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <span>

#include "libtrain/device/device.h"
#include "libtrain/device/host_values.h"
#include "libtrain/train/status_error.h"

namespace titan::train {

ValidationResult run_validation(World& world, Executor& executor, const Dataset& dataset,
                                const recipe::Config& config) {
  const std::int64_t rows = config.validation.local_batch_size, seq_len = dataset.validation_seq_len();
  const std::uint64_t samples = dataset.validation_read();
  const std::uint32_t count = dataset.validation_batches();
  const auto valid_rows = [&](std::uint32_t index) {
    return std::min<std::int64_t>(rows, static_cast<std::int64_t>(samples) - static_cast<std::int64_t>(index) * rows);
  };
  const auto batches = [&](std::uint32_t index) {
    const at::Tensor tokens = device().host_tensor({rows, seq_len + 1}, at::kLong);
    const std::span places = mutable_host_values<std::int64_t>(tokens);
    for (std::int64_t row = 0; row < rows; ++row) {
      const std::uint64_t sample = static_cast<std::uint64_t>(index) * static_cast<std::uint64_t>(rows) +
                                   static_cast<std::uint64_t>(row < valid_rows(index) ? row : 0);
      check(dataset.validation_sample(sample, places.subspan(static_cast<std::size_t>(row * (seq_len + 1)),
                                                             static_cast<std::size_t>(seq_len + 1))),
            met_in_samples(world.stage));
    }
    return micro_batch_of(tokens);
  };

  std::vector<double> losses = executor.run_forward(batches, count, rows, seq_len, valid_rows);
  world.all->sum(std::span(losses));
  ValidationResult result;
  result.tokens = samples * static_cast<std::uint64_t>(seq_len);
  for (const double loss : losses) result.loss += loss;
  result.loss /= static_cast<double>(result.tokens);
  return result;
}

}  // namespace titan::train
