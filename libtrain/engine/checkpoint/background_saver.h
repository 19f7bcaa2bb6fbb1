#pragma once
// Asynchronous saves: a background thread saves while training continues. The savers of all ranks communicate in a
// group of their own.
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

/// Time that a save took on one rank, in seconds.
struct SaveTimes {
  double snapshot = 0;  ///< copying the state that is not in tensors
  double stall = 0;     ///< training was blocked
  double durable = 0;   ///< from when the save was due until it was durable
};

struct SaveOutcome {
  std::uint64_t step = 0;
  ckpt::Result<SaveReport> report;
  SaveTimes times;
  bool waited_for = false;  ///< training was blocked during the whole save
  bool counts = true;       ///< whether a failure counts towards the consecutive failures that end a run
};

/// One save at a time. All functions are called by the training thread. Members shared with the saver's thread state
/// which thread owns them.
class BackgroundSaver {
 public:
  struct Options {
    Control* group = nullptr;  ///< all ranks; used only by the savers
    std::uint64_t leaf_bytes = 0;
    std::uint64_t staging_bytes = 0;
    unsigned threads = 1;  ///< number of computing threads
    /// Staging starts together with the save instead of when an update would overtake the save. For a GPU, whose copies
    /// do not slow down training.
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

  /// Starts a save of `snapshot` that was due at `due`. Not while busy(). `optimizer` must outlive the save and must
  /// not change its tensors before before_update(). `on_begin` (see Checkpointer::save) runs in the saver's thread.
  void start(ckpt::Snapshot snapshot, const ShardedAdamW& optimizer, Clock::time_point due,
             std::function<void(const std::string& tmp)> on_begin);
  /// Call this before the optimizer's tensors change.
  void before_update();

  /// True from start() until take() has returned the outcome.
  bool busy() const { return thread_.joinable(); }
  /// Whether the save has ended on this rank. Rethrows an exception that ended it without an outcome. \error CommError
  bool done() const;
  /// Waits for the save and returns its outcome, which is the same on every rank. \error CommError
  SaveOutcome take();

 private:
  void work(const std::function<void(const std::string&)>& on_begin);
  void join();

  Checkpointer& checkpointer_;
  const Options options_;
  Staging staging_{options_.leaf_bytes, options_.staging_bytes};
  std::optional<ckpt::Snapshot> snapshot_;
  std::optional<LiveSource> source_;
  std::optional<SaveOutcome> outcome_;  ///< owned by the saver's thread until done_
  std::exception_ptr error_;            ///< likewise
  Clock::time_point due_;
  double stall_seconds_ = 0, snapshot_seconds_ = 0;
  std::atomic<bool> done_ = false;
  std::thread thread_, stager_;
};

}  // namespace titan::train
