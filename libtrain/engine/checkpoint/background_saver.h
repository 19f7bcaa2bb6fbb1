#pragma once
// Asynchronous saves: on every rank a background thread, the saver, writes a checkpoint while training continues. The
// savers of all ranks communicate in a group that nothing else uses.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <thread>

#include "ckpt/base/result.h"
#include "ckpt/read/snapshot.h"
#include "libtrain/engine/checkpoint/checkpointer.h"
#include "libtrain/engine/checkpoint/live_source.h"
#include "libtrain/engine/checkpoint/staging.h"

namespace titan::train {

/// Times of one save on one rank, in seconds.
struct SaveTimes {
  double snapshot = 0;  ///< to prepare the save in the training thread; tensors are not copied then
  double stall = 0;     ///< for which training was blocked in total, `snapshot` included
  double durable = 0;   ///< from when the save was due until it was durable
};

/// The result of one save on one rank.
struct SaveOutcome {
  std::uint64_t step = 0;
  ckpt::Result<SaveReport> report;
  SaveTimes times;
  bool waited_for = false;  ///< training was blocked during the whole save
  bool counts = true;       ///< whether a failure counts towards the consecutive failures that end a run
};

/// Runs one save at a time. Only the training thread calls these functions. Most of its many members are used only
/// during a save: its snapshot, source, times, threads, outcome.
class BackgroundSaver {
 public:
  struct Options {
    Control* group = nullptr;         ///< all ranks; used only by the savers
    std::uint64_t leaf_bytes = 0;     ///< of a full leaf in fp32
    std::uint64_t staging_bytes = 0;  ///< maximum of the staging memory, see Staging
    unsigned threads = 1;             ///< number of computing threads
    /// Whether leaves are copied to staging as soon as the save starts. Otherwise they are copied when the next
    /// optimizer update is about to change them. True for a GPU, whose copies do not slow down training.
    bool stages_ahead = false;
  };
  using Clock = std::chrono::steady_clock;

  /// While busy(), nothing else may use `checkpointer`.
  BackgroundSaver(Checkpointer& checkpointer, const Options& options)
      : checkpointer_(checkpointer), options_(options) {}
  /// Abandons a save in progress, and removes its temporary folder if possible.
  ~BackgroundSaver();
  BackgroundSaver(const BackgroundSaver&) = delete;
  BackgroundSaver& operator=(const BackgroundSaver&) = delete;

  /// Starts a save of `snapshot` that was due at `due`. `optimizer` must outlive the save and must not change its
  /// tensors before before_update(). `on_begin` (see Checkpointer::save) runs in the saver's thread. \error
  /// std::logic_error while busy()
  void start(ckpt::Snapshot snapshot, const ShardedAdamW& optimizer, Clock::time_point due,
             std::function<void(const std::string& tmp)> on_begin);
  /// Returns when the optimizer's tensors may change: see LiveSource::before_update(). Call this before each update.
  void before_update();

  /// True from start() until take() has returned the outcome.
  bool busy() const { return thread_.joinable(); }
  /// Whether the save has ended on this rank. \error CommError and other exceptions that ended the save
  bool done() const;
  /// Waits for the save and returns its outcome. Success or failure is the same on every rank. \error as done()
  SaveOutcome take();

 private:
  void work(const std::function<void(const std::string&)>& on_begin);
  void join();

  Checkpointer& checkpointer_;
  const Options options_;
  Staging staging_{options_.leaf_bytes, options_.staging_bytes};
  std::optional<ckpt::Snapshot> snapshot_;
  std::optional<LiveSource> source_;
  std::optional<SaveOutcome> outcome_;  ///< only the saver's thread uses it until done_ is true
  std::exception_ptr error_;            ///< only the saver's thread uses it until done_ is true
  Clock::time_point due_;
  double stall_seconds_ = 0, snapshot_seconds_ = 0;
  std::atomic<bool> done_ = false;
  std::thread thread_, stager_;
};

}  // namespace titan::train
