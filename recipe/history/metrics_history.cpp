#include "recipe/history/metrics_history.h"

#include <charconv>

#include "recipe/history/metrics_line.h"

namespace titan::recipe {
namespace {

std::optional<std::uint64_t> first_digits(std::string_view text) {
  if (!text.starts_with(kMetricsLineStart)) return std::nullopt;
  std::uint64_t step = 0;
  const char* digits = text.data() + kMetricsLineStart.size();
  const auto [end, error] = std::from_chars(digits, text.data() + text.size(), step);
  return error == std::errc{} && end != digits ? std::optional(step) : std::nullopt;
}

}  // namespace

void HistoryScan::line(std::string_view text) {
  const std::uint64_t number = lines_++;
  const std::optional<std::uint64_t> step = first_digits(text);
  // If the step is the next one, the line is taken for one of the same attempt. Only other lines are parsed completely.
  const bool usual = step && *step == newest_ + 1 && attempt_ != 0;
  if (usual) {
    newest_ = *step;
    return;
  }
  const std::optional<MetricsLine> line = read_metrics_line(text);
  if (!line || (!line->is_step() && !line->is_start())) return;
  const std::uint64_t first_again = line->is_start() ? line->step + 1 : line->step;
  // Only a later start resumes from an earlier step. A smaller step of the same start is an error in that line.
  if (first_again <= newest_ && line->attempt <= attempt_) return;
  if (first_again <= newest_) {
    while (!cuts_.empty() && cuts_.back().step >= first_again) cuts_.pop_back();
    cuts_.push_back({number, first_again});
  }
  newest_ = line->step;
  if (line->attempt > attempt_) attempt_ = line->attempt;
}

HistoryFilter::Counts HistoryFilter::judge(std::uint64_t number, const MetricsLine& line) {
  while (next_ < cuts_.size() && cuts_[next_].line <= number) ++next_;
  if (next_ < cuts_.size() && line.step >= cuts_[next_].step) return Counts::kDoneAgain;
  if (!line.is_step()) return Counts::kYes;
  if (last_ && line.step <= *last_) return Counts::kOutOfOrder;
  last_ = line.step;
  return Counts::kYes;
}

}  // namespace titan::recipe
