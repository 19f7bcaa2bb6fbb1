#pragma once
// One line of metrics.jsonl as a value. Pure.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace titan::recipe {

/// The fields of a line that the tools use. A field that is missing is empty; so is one of another type, except step
/// and attempt.
struct MetricsLine {
  std::uint64_t step = 0;
  std::uint32_t attempt = 0;  ///< 0: not in the line
  std::string event;          ///< empty: a step line
  std::string schedule;       ///< for a start or resume
  std::string id;             ///< for a save_commit
  std::string time;           ///< UTC, milliseconds
  std::optional<double> loss, grad_norm, lr, tokens, tps, tps_total, time_s;
  std::optional<double> dp, pp;                   ///< for a start or resume
  std::optional<double> validation_loss;          ///< for a validation
  std::optional<double> bytes, seconds, stall_s;  ///< for a save_commit
  bool is_step() const { return event.empty() && loss.has_value(); }
  bool is_start() const { return event == "start" || event == "resume"; }
};

/// How every line of the log begins; the step number follows.
inline constexpr std::string_view kMetricsLineStart = R"({"schema":"titan.metrics/1","step":)";

/// Parses one line. nullopt for a line that is cut off, is not a JSON object, has no step, or whose step or attempt is
/// no whole number.
std::optional<MetricsLine> read_metrics_line(std::string_view text);

}  // namespace titan::recipe
