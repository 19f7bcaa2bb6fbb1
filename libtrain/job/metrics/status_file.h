#pragma once
// metrics.status_file: how a run stands, in Prometheus' text format, for node_exporter's textfile collector and the
// like.
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "ckpt/base/fs.h"
#include "ckpt/base/mutex.h"
#include "libtrain/job/metrics/late_writer.h"
#include "libtrain/job/metrics/step_metrics.h"

namespace titan::train {

struct RunStatus {
  std::string run;  ///< the label of every line
  std::uint32_t attempt = 1;
  std::optional<StepMetrics> step;                            ///< the last one that was finished
  std::optional<std::uint64_t> durable;                       ///< the last step that is on the disk; none: no step is
  double durable_at = 0;                                      ///< seconds since 1970
  std::uint64_t save_failures = 0, skips = 0, rollbacks = 0;  ///< of this start
};

/// The whole file. `now`: seconds since 1970. \source prometheus.io/docs/instrumenting/exposition_formats
std::string status_text(const RunStatus& status, double now);

/// Puts the newest status into a file, each time in the place of the one before: a reader never sees a part. Written by
/// the run's late writer, at once where a save or a failure changes it, else once a second at most.
class StatusFile : public std::enable_shared_from_this<StatusFile> {
 public:
  /// `status`: at the start.
  StatusFile(ckpt::Fs& fs, std::string path, RunStatus status, LateWriter& late);
  void step(const StepMetrics& metrics);
  void saved(std::uint64_t step);
  /// Counts "save_failed", "skip" and "rollback"; other events change nothing.
  void event(std::string_view name);
  /// Once more with what is known now. Returns at once.
  void write_soon();

 private:
  void write();

  ckpt::Fs& fs_;
  const std::string path_;
  LateWriter& late_;
  ckpt::Mutex mutex_;
  RunStatus status_ TITAN_GUARDED_BY(mutex_);
  bool waiting_ TITAN_GUARDED_BY(mutex_) = false;  ///< the late writer has it
  std::optional<std::chrono::steady_clock::time_point> written_ TITAN_GUARDED_BY(mutex_);
  bool refused_ = false;  ///< of the writer's thread: the store refused it the last time
};

}  // namespace titan::train
