#include "libtrain/engine/train/step_row.h"

#include <algorithm>

#include "libtrain/job/control/node_sum.h"
#include "recipe/plan/plan_values.h"

namespace titan::train {
namespace {

constexpr std::int64_t kFlags = 4;
constexpr std::int64_t kPerRank = 2;  // resident, tensors

}  // namespace

StepRow::StepRow(const recipe::RunPlan& plan, NormOrder order)
    : count_(plan.batch.count),
      ranks_(plan.mesh.world()),
      node_ranks_(plan.node_ranks),
      norms_(plan, order),
      layers_of_experts_(plan.dims.experts ? plan.dims.n_layers : 0),
      row_(static_cast<std::size_t>(count_ + kFlags + kPerRank * ranks_ + norms_.size()) +
           (layers_of_experts_ > 0 ? 1 : 0)) {}

void StepRow::fill(const std::vector<double>& losses, const Words& words, const std::vector<OwnedGradient>& grads) {
  std::ranges::fill(row_, 0.0);
  double* const row = row_.data();
  std::ranges::copy(losses, row);
  row[count_] = words.stop ? 1 : 0;
  row[count_ + 1] = words.trouble ? 1 : 0;
  row[count_ + 2] = words.saved ? 1 : 0;
  row[count_ + 3] = words.save_due ? 1 : 0;
  norms_.fill(grads, row + count_ + kFlags + kPerRank * ranks_);
}

void StepRow::note_memory(int rank, const PeakMemory& memory) {
  double* const place = row_.data() + count_ + kFlags + kPerRank * rank;
  place[0] = static_cast<double>(memory.resident.value_or(0));
  place[1] = static_cast<double>(memory.tensors.value_or(0));
}

void StepRow::note_balance(double balance) {
  if (layers_of_experts_ > 0) row_.back() = balance;
}

std::optional<double> StepRow::balance() const {
  if (layers_of_experts_ == 0) return std::nullopt;
  return row_.back() / static_cast<double>(count_ * layers_of_experts_);
}

void StepRow::add_up(Control& all) { sum_over_nodes(all, row_, node_ranks_); }

double StepRow::loss_sum() const {
  double sum = 0;
  for (std::int64_t i = 0; i < count_; ++i) sum += row_.data()[i];
  return sum;
}

double StepRow::largest_loss() const {
  const double* const losses = row_.data();
  return *std::max_element(losses, losses + count_);
}

PeakMemory StepRow::memory() const {
  const double* const places = row_.data() + count_ + kFlags;
  const auto most = [&](std::int64_t which) -> std::optional<std::uint64_t> {
    double bytes = 0;
    for (std::int64_t rank = 0; rank < ranks_; ++rank) bytes = std::max(bytes, places[kPerRank * rank + which]);
    return bytes > 0 ? std::optional(static_cast<std::uint64_t>(bytes)) : std::nullopt;
  };
  return {.resident = most(0), .tensors = most(1)};
}

bool StepRow::stop() const { return row_.data()[count_] > 0; }
bool StepRow::save_due() const { return row_.data()[count_ + 3] > 0; }
bool StepRow::trouble() const { return row_.data()[count_ + 1] > 0; }
int StepRow::saved() const { return static_cast<int>(row_.data()[count_ + 2]); }
const double* StepRow::leaves() const { return row_.data() + count_ + kFlags + kPerRank * ranks_; }

}  // namespace titan::train
