#pragma once
// metrics.status_file: the state of a run in Prometheus text format, for example for node_exporter's textfile
// collector.
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "ckpt/base/mutex.h"
#include "libtrain/job/metrics/background_writer.h"
#include "libtrain/job/metrics/metrics_file.h"
#include "libtrain/job/metrics/step_metrics.h"

namespace titan::ckpt {
class Fs;
}

namespace titan::train {

struct RunStatus {
  std::string run;  ///< label value of every line
  std::uint32_t attempt = 1;
  std::optional<StepMetrics> step;       ///< last completed step
  std::optional<std::uint64_t> durable;  ///< last durable step; unset if there is none
  double durable_at = 0;  ///< when this start saved it; else when this start began. Seconds since 1970-01-01 UTC
  std::uint64_t save_failures = 0, skips = 0, rollbacks = 0;  ///< counts of this start
};

/// The whole file. `now`: seconds since 1970. \source prometheus.io/docs/instrumenting/exposition_formats
std::string status_text(const RunStatus& status, double now);

/// Writes the newest status and replaces the file atomically. The run's background writer writes it after each save,
/// failed save, skip and rollback; after a step only if the last write was at least a second before.
class StatusFile : public std::enable_shared_from_this<StatusFile> {
 public:
  /// `status`: the status at the start.
  StatusFile(ckpt::Fs& fs, std::string path, RunStatus status, BackgroundWriter& background);
  void step(const StepMetrics& metrics);
  void saved(std::uint64_t step);
  /// Counts failed saves, and steps without finite values by what was done: skips and rollbacks. Other events change
  /// nothing.
  void event(std::string_view name, const EventFields& fields);
  /// Queues a write of the status as it is when the write begins. Returns at once.
  void write_soon();

 private:
  void write();

  ckpt::Fs& fs_;
  const std::string path_;
  BackgroundWriter& background_;
  ckpt::Mutex mutex_;
  RunStatus status_ TITAN_GUARDED_BY(mutex_);
  bool waiting_ TITAN_GUARDED_BY(mutex_) = false;  ///< a write is queued at the background writer
  std::optional<std::chrono::steady_clock::time_point> written_ TITAN_GUARDED_BY(mutex_);
  bool refused_ = false;  ///< used by the writer's thread: the store refused the last write
};

}  // namespace titan::train
