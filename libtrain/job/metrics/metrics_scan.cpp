#include "libtrain/job/metrics/metrics_scan.h"

#include "recipe/history/metrics_line.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace titan::train {
namespace {

/// The step of a complete line of ours; nullopt if it has control bytes (zero blocks after a power loss).
std::optional<std::uint64_t> step_of(std::string_view line) {
  if (!line.starts_with(recipe::kMetricsLineStart) || !line.ends_with('}')) return {};
  if (std::any_of(line.begin(), line.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; })) return {};
  const char* end = line.data() + line.size();
  std::uint64_t step = 0;
  const std::from_chars_result parsed = std::from_chars(line.data() + recipe::kMetricsLineStart.size(), end, step);
  if (parsed.ec != std::errc() || parsed.ptr == end || *parsed.ptr != ',') return {};
  return step;
}

bool is_event(std::string_view line) { return line.find(",\"event\":") != std::string_view::npos; }

}  // namespace

void MetricsScan::feed(std::string_view piece) {
  for (;;) {
    const std::size_t newline = piece.find('\n');
    line_ += piece.substr(0, newline);
    if (newline == std::string_view::npos) return;
    line_done();
    piece.remove_prefix(newline + 1);
  }
}

void MetricsScan::line_done() {
  whole_lines_ += line_.size() + 1;
  if (const std::optional<std::uint64_t> step = step_of(line_)) {
    if (*step > step_) passed_ = true;
    if (!passed_)
      cut_ = whole_lines_;
    else if (*step <= step_ && is_event(line_))
      late_ += line_ + '\n';
  }
  line_.clear();
}

}  // namespace titan::train
