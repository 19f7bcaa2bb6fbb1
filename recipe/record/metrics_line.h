#pragma once
// One line of metrics.jsonl as a value. Pure.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace titan::recipe {

/// What the tools need of a line. A field that the line lacks, or that is of another type, is absent.
struct MetricsLine {
  std::uint64_t step = 0;
  std::uint32_t attempt = 0;  ///< 0: the line does not say
  std::string event;          ///< empty: a step
  std::string schedule;       ///< of start and resume
  std::string id;             ///< of save_commit
  std::string time;           ///< UTC, milliseconds
  std::optional<double> loss, grad_norm, lr, tokens, tps, tps_total, time_s;
  std::optional<double> dp, pp;                   ///< of start and resume
  std::optional<double> validation_loss;          ///< of validation
  std::optional<double> bytes, seconds, stall_s;  ///< of save_commit
  bool is_step() const { return event.empty() && loss.has_value(); }
  bool is_start() const { return event == "start" || event == "resume"; }
};

/// Nothing of a line that is torn, no JSON object, or without a step.
std::optional<MetricsLine> read_metrics_line(std::string_view text);

}  // namespace titan::recipe
