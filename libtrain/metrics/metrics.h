#pragma once
// What rank 0 tells the world: metrics.jsonl (the source of truth) and torchtitan's step lines.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "ckpt/base/fs.h"

namespace titan::train {

struct StepMetrics {
  std::uint64_t step = 0;
  double loss = 0;            ///< global mean over tokens, nats
  double grad_norm = 0;       ///< before clipping
  double lr = 0;              ///< the one applied
  std::uint64_t tokens = 0;   ///< seen so far
  std::uint64_t samples = 0;  ///< consumed so far: where the next step begins
  double tps = 0;             ///< tokens per second and rank
  double time_s = 0;          ///< of this step
  double data_s = 0;          ///< of it, loading data
};

/// A value of an event line.
using EventValue = std::variant<std::string, double, std::uint64_t, bool>;
using EventFields = std::vector<std::pair<std::string, EventValue>>;

/// Appends to `<run>/metrics.jsonl`, whole lines only; one object per line; floats in shortest round-trip form,
/// non-finite as strings. One writer (rank 0, under the run's lock), not thread-safe.
class MetricsFile {
 public:
  /// Opens for a start that continues after `step` (0 = fresh). Lines from the first one with a larger step on are cut
  /// off, events like steps, and appended to metrics.jsonl.attempt-<attempt>; lines of `step` itself stay, its events
  /// too. A torn last line (no newline, or not a whole object) is dropped. \error kFailed (I/O).
  static ckpt::Result<std::unique_ptr<MetricsFile>> open(ckpt::Fs& fs, const std::string& path, std::uint64_t step,
                                                         std::uint32_t attempt);
  ckpt::Status step(const StepMetrics& metrics);
  /// `{"schema":..,"step":..,"time":..,"attempt":..,"event":name, fields...}`
  ckpt::Status event(std::uint64_t step, std::string_view name, const EventFields& fields);
  /// Makes the lines durable. Call it before a checkpoint of this step is published: then no published step is without
  /// its lines.
  ckpt::Status sync();
  /// sync() and close; reports late errors.
  ckpt::Status close();

 private:
  MetricsFile(std::unique_ptr<ckpt::File> file, std::string path, std::uint32_t attempt)
      : file_(std::move(file)), path_(std::move(path)), attempt_(attempt) {}
  std::string line_start(std::uint64_t step) const;
  ckpt::Status append(std::string line);

  std::unique_ptr<ckpt::File> file_;  ///< null: closed
  std::uint64_t end_ = 0;             ///< where the next line goes
  std::string path_;
  std::uint32_t attempt_ = 1;
};

/// torchtitan's console line with its widths, without newline:
/// "step: 10  loss:  9.94932  grad_norm:  1.5181  memory: n/a  tps: 5,855  tflops: 0.31  mfu: n/a".
/// A `tflops` that is not a positive number is unknown.
std::string step_line(const StepMetrics& metrics, std::optional<double> memory_gib, double tflops, bool color);
/// "validate step: 20  loss:  3.1234  memory: n/a  tps: 5,855"
std::string validation_line(std::uint64_t step, double loss, double tps, bool color);

/// Shortest text that reads back as the same double; "nan", "inf", "-inf" in quotes.
std::string json_number(double value);
/// Now, RFC 3339 UTC with milliseconds.
std::string utc_now();

}  // namespace titan::train
