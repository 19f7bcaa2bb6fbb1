#include "libtrain/train/step_row.h"

#include <ATen/ATen.h>

#include <algorithm>

namespace titan::train {
namespace {

constexpr std::int64_t kFlags = 4;

}  // namespace

StepRow::StepRow(const recipe::RunPlan& plan, NormOrder order)
    : count_(plan.batch.count), norms_(plan, order), row_(at::zeros({count_ + kFlags + norms_.size()}, at::kDouble)) {}

void StepRow::fill(const std::vector<double>& losses, const Words& words, const std::vector<OwnedGradient>& grads) {
  row_.zero_();
  double* const row = row_.mutable_data_ptr<double>();
  std::ranges::copy(losses, row);
  row[count_] = words.stop ? 1 : 0;
  row[count_ + 1] = words.trouble ? 1 : 0;
  row[count_ + 2] = words.saved ? 1 : 0;
  row[count_ + 3] = words.save_due ? 1 : 0;
  norms_.fill(grads, row + count_ + kFlags);
}

void StepRow::add_up(Communicator& all) { all.all_reduce_sum(row_); }

double StepRow::loss_sum() const {
  double sum = 0;
  for (std::int64_t i = 0; i < count_; ++i) sum += row_.const_data_ptr<double>()[i];
  return sum;
}

bool StepRow::stop() const { return row_.const_data_ptr<double>()[count_] > 0; }
bool StepRow::save_due() const { return row_.const_data_ptr<double>()[count_ + 3] > 0; }
bool StepRow::trouble() const { return row_.const_data_ptr<double>()[count_ + 1] > 0; }
int StepRow::saved() const { return static_cast<int>(row_.const_data_ptr<double>()[count_ + 2]); }
const double* StepRow::leaves() const { return row_.const_data_ptr<double>() + count_ + kFlags; }

}  // namespace titan::train
