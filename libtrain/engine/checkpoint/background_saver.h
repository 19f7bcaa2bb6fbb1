#pragma once
// Saves in a thread of its own while training goes on. Every rank has one, and they talk in a group that nobody else
// uses.
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

/// Seconds of one rank.
struct SaveTimes {
  double snapshot = 0;  ///< to take down all that is not a tensor
  double stall = 0;     ///< of training
  double durable = 0;   ///< from when the save was due until it was durable
};

struct SaveOutcome {
  std::uint64_t step = 0;
  ckpt::Result<SaveReport> report;
  SaveTimes times;
  bool waited_for = false;  ///< training stood still all the time
  bool counts = true;       ///< among the failures in a row that end a run, where it is one
};

/// One save at a time. All functions are for the training thread.
/// A thread and its queue: what both touch is named here with its owner.
class BackgroundSaver {
 public:
  struct Options {
    Control* group = nullptr;  ///< every rank; the saver's alone
    std::uint64_t leaf_bytes = 0;
    std::uint64_t staging_bytes = 0;
    unsigned threads = 1;  ///< of computing
    /// Staging begins with the save, and not where an update would overtake it: on a device, whose copies cost the run
    /// nothing.
    bool stages_ahead = false;
  };
  using Clock = std::chrono::steady_clock;

  /// `checkpointer` is used by nobody else while busy().
  BackgroundSaver(Checkpointer& checkpointer, const Options& options)
      : checkpointer_(checkpointer), options_(options) {}
  /// Gives up a save that is under way: its temporary is removed where that is possible.
  ~BackgroundSaver();
  BackgroundSaver(const BackgroundSaver&) = delete;
  BackgroundSaver& operator=(const BackgroundSaver&) = delete;

  /// Begins a save of `snapshot` that was due at `due`; not while busy(). `optimizer` outlives the save, and changes
  /// its tensors after let_change() only. `on_begin` runs in the saver's thread, see Checkpointer::save.
  void start(ckpt::Snapshot snapshot, const ShardedAdamW& optimizer, Clock::time_point due,
             std::function<void(const std::string& tmp)> on_begin);
  /// To be called before tensors of the optimizer change.
  void let_change();

  /// A save was started whose outcome is not taken yet.
  bool busy() const { return thread_.joinable(); }
  /// It is over on this rank. Rethrows what ended it without an outcome. \error CommError
  bool done() const;
  /// Its outcome, which is the same on every rank; waits for it. \error CommError
  SaveOutcome take();

 private:
  void work(const std::function<void(const std::string&)>& on_begin);
  void join();

  Checkpointer& checkpointer_;
  const Options options_;
  Staging staging_{options_.leaf_bytes, options_.staging_bytes};
  std::optional<ckpt::Snapshot> snapshot_;
  std::optional<LiveSource> source_;
  std::optional<SaveOutcome> outcome_;  ///< the thread's until done_
  std::exception_ptr error_;            ///< likewise
  Clock::time_point due_;
  double stall_seconds_ = 0, snapshot_seconds_ = 0;
  std::atomic<bool> done_ = false;
  std::thread thread_, stager_;
};

}  // namespace titan::train
