#include "libtrain/engine/train/validation.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <span>
#include <utility>

#include "libtrain/engine/device/device.h"
#include "libtrain/engine/device/host_values.h"
#include "libtrain/engine/train/status_error.h"
#include "libtrain/job/metrics/step_clock.h"
#include "recipe/keys/config.h"

namespace titan::train {
namespace {

/// Finds out, on all ranks, whether a rank is stopping. It communicates before the first batches, then about twice a
/// second, since a sum over many ranks takes as long as a small batch.
class StopLook {
 public:
  StopLook(World& world, const std::function<bool()>& stopped) : world_(world), stopped_(stopped) {}

  /// Called before each batch, on every rank; returns the same on all.
  bool goes_on() {
    if (left_-- > 0) return true;
    const bool root = world_.rank == 0;
    std::array<double, 2> row = {stopped_() ? 1.0 : 0.0, root && batches_ > 0 ? seconds_since(begin_) : 0.0};
    world_.all->sum(row);
    // The elapsed time is rank 0's, so that all ranks communicate before the same batches.
    if (batches_ == 0 || row[1] > 2 * kApart)
      batches_ = std::max<std::uint32_t>(1, batches_ / 2);
    else if (row[1] < kApart / 2)
      batches_ *= 2;
    left_ = batches_ - 1;
    begin_ = Clock::now();
    return row[0] == 0;
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr double kApart = 0.5;  // seconds

  World& world_;
  const std::function<bool()>& stopped_;
  std::uint32_t left_ = 0, batches_ = 0;  ///< batches until the next communication, and between two of them
  Clock::time_point begin_;
};

}  // namespace

std::optional<ValidationResult> run_validation(World& world, Executor& executor, const Dataset& dataset,
                                               const recipe::Config& config, const std::function<bool()>& stopped) {
  const std::int64_t rows = config.validation.local_batch_size, seq_len = dataset.validation_seq_len();
  const std::uint64_t samples = dataset.validation_read();
  const std::uint32_t count = dataset.validation_batches();
  const auto valid_rows = [&](std::uint32_t index) {
    return std::min<std::int64_t>(rows, static_cast<std::int64_t>(samples) - static_cast<std::int64_t>(index) * rows);
  };
  // By batch: number of tokens without a loss, counted by one rank of each pipeline.
  std::map<std::uint32_t, std::uint64_t> without_loss;
  const auto batches = [&](std::uint32_t index) {
    const at::Tensor tokens = device().host_tensor({rows, seq_len + 1}, at::kLong);
    std::vector<SampleMarks> marks;
    without_loss[index] = 0;
    const std::span places = mutable_host_values<std::int64_t>(tokens);
    for (std::int64_t row = 0; row < rows; ++row) {
      const std::uint64_t sample = static_cast<std::uint64_t>(index) * static_cast<std::uint64_t>(rows) +
                                   static_cast<std::uint64_t>(row < valid_rows(index) ? row : 0);
      const std::span of_row =
          places.subspan(static_cast<std::size_t>(row * (seq_len + 1)), static_cast<std::size_t>(seq_len + 1));
      check(dataset.validation_sample(sample, of_row), scope_of_sample_error(world.stage));
      if (dataset.is_plain()) continue;
      auto found = dataset.validation_marks(sample, of_row);
      check(found.status(), scope_of_sample_error(world.stage));
      marks.push_back(std::move(*found));
      if (row < valid_rows(index)) without_loss[index] += marks.back().untrained.size();
    }
    return micro_batch_of(tokens, std::move(marks));
  };

  StopLook look(world, stopped);
  auto whole = executor.run_forward(batches, count, rows, seq_len, valid_rows, [&look] { return look.goes_on(); });
  if (!whole) return std::nullopt;
  std::vector<double>& losses = *whole;
  losses.push_back(0);
  for (const auto& [index, count] : without_loss)
    if (world.stage == 0) losses.back() += static_cast<double>(count);
  world.all->sum(std::span(losses));
  ValidationResult result;
  result.tokens = samples * static_cast<std::uint64_t>(seq_len) - static_cast<std::uint64_t>(losses.back());
  losses.pop_back();
  for (const double loss : losses) result.loss += loss;
  result.loss /= static_cast<double>(std::max<std::uint64_t>(1, result.tokens));
  return result;
}

}  // namespace titan::train
