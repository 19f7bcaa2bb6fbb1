#pragma once
// Saves in a separate thread while training continues. Every rank has such a saver; the savers of all ranks talk in a
// group that nothing else uses.
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

/// What a save cost one rank, in seconds.
struct SaveTimes {
  double snapshot = 0;  ///< to copy the state that is not in tensors
  double stall = 0;     ///< training stood still
  double durable = 0;   ///< from when the save was due until it was durable
};

struct SaveOutcome {
  std::uint64_t step = 0;
  ckpt::Result<SaveReport> report;
  SaveTimes times;
  bool waited_for = false;  ///< training stood still during the whole save
  bool counts = true;       ///< if the save failed: it counts among the consecutive failures that end a run
};

/// One save at a time. All functions are for the training thread. Members that both threads touch name the thread that
/// owns them.
class BackgroundSaver {
 public:
  struct Options {
    Control* group = nullptr;  ///< every rank; used by the savers alone
    std::uint64_t leaf_bytes = 0;
    std::uint64_t staging_bytes = 0;
    unsigned threads = 1;  ///< that compute
    /// Staging begins together with the save, not only when an update would overtake the save. For a GPU, whose copies
    /// cost training nothing.
    bool stages_ahead = false;
  };
  using Clock = std::chrono::steady_clock;

  /// While busy(), nothing else may use `checkpointer`.
  BackgroundSaver(Checkpointer& checkpointer, const Options& options)
      : checkpointer_(checkpointer), options_(options) {}
  /// Gives up a save that is under way, and removes its temporary folder if possible.
  ~BackgroundSaver();
  BackgroundSaver(const BackgroundSaver&) = delete;
  BackgroundSaver& operator=(const BackgroundSaver&) = delete;

  /// Begins a save of `snapshot` that was due at `due`; not while busy(). `optimizer` must outlive the save, and may
  /// change its tensors only after let_change(). `on_begin` (see Checkpointer::save) runs in the saver's thread.
  void start(ckpt::Snapshot snapshot, const ShardedAdamW& optimizer, Clock::time_point due,
             std::function<void(const std::string& tmp)> on_begin);
  /// Call this before tensors of the optimizer change.
  void let_change();

  /// True from start() until take() has returned the outcome.
  bool busy() const { return thread_.joinable(); }
  /// Whether the save is over on this rank. Rethrows an exception that ended it without an outcome. \error CommError
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
