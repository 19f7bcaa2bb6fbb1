#pragma once
// TensorBoard event files, one for each start and each rollback of a run. All files of a run are in one folder, so that
// TensorBoard shows one curve.
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ckpt/base/result.h"
#include "libtrain/job/metrics/append_file.h"
#include "libtrain/job/metrics/background_writer.h"
#include "libtrain/job/metrics/event_record.h"

namespace titan::train {

/// Appends whole records. One writer (rank 0, under the run's lock), not thread-safe.
class EventFile : public std::enable_shared_from_this<EventFile> {
 public:
  /// Creates a new file in `folder`, and `folder` if missing. Readers read files in name order, so the new name sorts
  /// after the existing ones. The file states that steps after `step` are written again. \error kFailed (I/O)
  static ckpt::Result<std::unique_ptr<EventFile>> open(ckpt::Fs& fs, const std::string& folder, std::uint64_t step);

  /// See MetricsFile::write_through.
  void write_through(BackgroundWriter* background) { background_ = background; }
  /// Adds `scalars` of `step`, with the current time. With a BackgroundWriter, they may be dropped if its queue is
  /// full.
  ckpt::Status add(std::uint64_t step, const std::vector<BoardScalar>& scalars);
  /// Makes the scalars that were written so far durable (not those in the queue of a BackgroundWriter).
  ckpt::Status sync();
  /// sync() and close; reports late errors.
  ckpt::Status close();

 private:
  explicit EventFile(AppendFile file) : file_(std::move(file)) {}

  AppendFile file_;
  BackgroundWriter* background_ = nullptr;
};

/// "events.out.tfevents.SECONDS.HOST.PID.0", where SECONDS is `now`, or larger if that is needed to sort after `names`.
/// Pure.
std::string event_file_name(std::uint64_t now, const std::string& host, int pid, const std::vector<std::string>& names);

}  // namespace titan::train
