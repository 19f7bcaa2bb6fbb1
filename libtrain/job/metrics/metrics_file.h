#pragma once
// metrics.jsonl: the values that rank 0 reports for each step. Readers that need these values use this file, not the
// console or TensorBoard.
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "ckpt/base/result.h"
#include "libtrain/job/metrics/append_file.h"
#include "libtrain/job/metrics/background_writer.h"
#include "libtrain/job/metrics/step_metrics.h"

namespace titan::train {

/// A value of an event line.
using EventValue = std::variant<std::string, double, std::uint64_t, bool>;
using EventFields = std::vector<std::pair<std::string, EventValue>>;

/// Appends to `<run>/metrics.jsonl`, whole lines only; one object per line; floats in shortest round-trip form,
/// non-finite as strings. One writer (rank 0, under the run's lock), not thread-safe.
class MetricsFile : public std::enable_shared_from_this<MetricsFile> {
 public:
  /// Opens the file for a start that continues after `step` (0: a new run), and cuts it (metrics_scan.h) before the
  /// first line with a larger step:
  /// - The lines after the cut are moved to the end of metrics.jsonl.attempt-<attempt>.
  /// - Events after the cut whose step is at most `step` are also appended to this file again: for example, the event
  ///   that ends a save, if it was written after lines of later steps.
  /// - A last line without a newline is dropped.
  /// \error kFailed, kMediaError (I/O)
  static ckpt::Result<std::unique_ptr<MetricsFile>> open(ckpt::Fs& fs, const std::string& path, std::uint64_t step,
                                                         std::uint32_t attempt);
  /// From now on the thread of `background` writes lines and reports errors; a shared_ptr must own this object. If the
  /// queue of `background` is full, lines of steps and norms may be dropped. nullptr: lines are written at once.
  void write_through(BackgroundWriter* background) { background_ = background; }
  ckpt::Status step(const StepMetrics& metrics);
  /// Writes an event "validation".
  ckpt::Status validation(const ValidationMetrics& metrics);
  /// Writes an event "parameter_norms" with an object `norms` of these names and values.
  ckpt::Status parameter_norms(std::uint64_t step, const std::vector<std::string>& names,
                               const std::vector<double>& norms);
  /// `{"schema":..,"step":..,"time":..,"attempt":..,"event":name, fields...}`
  ckpt::Status event(std::uint64_t step, std::string_view name, const EventFields& fields);
  /// Makes the lines that were written so far durable (not those in the queue of a BackgroundWriter). Call it before a
  /// checkpoint is published, so that every published step has its lines.
  ckpt::Status sync();
  /// sync() and close; reports late errors.
  ckpt::Status close();

 private:
  MetricsFile(AppendFile file, std::uint32_t attempt) : file_(std::move(file)), attempt_(attempt) {}
  std::string line_start(std::uint64_t step) const;
  ckpt::Status append(BackgroundWriter::Keep keep, std::string line);

  AppendFile file_;
  std::uint32_t attempt_ = 1;
  BackgroundWriter* background_ = nullptr;
};

}  // namespace titan::train
