#include "recipe/history/save_record.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace titan::recipe {
namespace {

bool is_positive(const std::optional<double>& value) { return value && std::isfinite(*value) && *value > 0; }

void remember(std::deque<double>& values, double value, std::size_t most) {
  if (values.size() == most) values.pop_front();
  values.push_back(value);
}

std::optional<double> median(const std::deque<double>& values) {
  if (values.empty()) return std::nullopt;
  std::vector<double> sorted(values.begin(), values.end());
  std::ranges::sort(sorted);
  return sorted[sorted.size() / 2];
}

}  // namespace

void SaveRecordBuilder::take(const MetricsLine& line) {
  if (line.is_start()) {
    if (line.event == "resume") ++record_.resumes;
    steps_of_start_ = 0;
    steps_.clear();
  } else if (line.is_step()) {
    if (record_.first_step == 0) record_.first_step = line.step;
    record_.last_step = line.step;
    if (!is_positive(line.time_s)) return;
    record_.steps_total_s += *line.time_s;
    // The first step of a start includes the warm-up.
    if (steps_of_start_++ > 0) remember(steps_, *line.time_s, kSteps);
  } else if (line.event == "save_failed") {
    ++record_.failed;
  } else if (line.event == "save_commit") {
    ++record_.saves;
    if (line.bytes && std::isfinite(*line.bytes) && *line.bytes > 0) record_.save_bytes = line.bytes;
    if (is_positive(line.seconds)) remember(saves_, *line.seconds, kSaves);
    if (is_positive(line.stall_s)) remember(stalls_, *line.stall_s, kSaves);
    const std::optional<double>& waited = is_positive(line.stall_s) ? line.stall_s : line.seconds;
    if (is_positive(waited)) record_.saves_total_s += *waited;
  }
}

SaveRecord SaveRecordBuilder::finish() const {
  SaveRecord record = record_;
  record.step_s = median(steps_);
  record.step_median_of = steps_.size();
  record.save_s = median(saves_);
  record.stall_s = median(stalls_);
  return record;
}

}  // namespace titan::recipe
