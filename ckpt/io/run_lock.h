#pragma once
// The lock of a run folder. \source FORMAT.md, "The lock of a run"
#include <memory>
#include <string>
#include <string_view>

#include "ckpt/base/fs.h"

namespace titan::ckpt {

struct LockOwner {
  std::string host, boot_id, job_id;
  std::uint64_t pid = 0;
  std::uint32_t restart_count = 0;
  std::string since;         ///< RFC 3339 UTC
  double heartbeat = 0;      ///< seconds since the epoch
  bool operator==(const LockOwner&) const = default;
};

inline constexpr const char* kRunLockFile = "run.lock";
inline constexpr std::string_view kLockPrefix = "{\"host\":";  ///< the first bytes of what encode_lock_owner() makes

/// True when the run that left `holder` in a lock file cannot be alive, given that `self` got the advisory lock. On one
/// host the lock itself is the proof. Another host may not share advisory locks with us: its run is dead after 60 s
/// without a heartbeat (self.heartbeat is now), or when the same job id comes with a higher restart count. Pure.
bool holder_is_gone(const LockOwner& holder, const LockOwner& self);

std::string encode_lock_owner(const LockOwner& owner);
/// \error kCorrupt. Text after the value is ignored: a write cut short may leave an old tail.
Result<LockOwner> decode_lock_owner(const std::string& text);

/// Holds `<run>/run.lock` until destroyed; beat() refreshes the heartbeat (call about every 10 s, from one thread).
class RunLock {
 public:
  /// Takes the lock; self.heartbeat is the present time. \error kLocked: who holds it since when.
  static Result<std::unique_ptr<RunLock>> take(Fs& fs, const std::string& run_dir, LockOwner self);
  /// Leaves a note that the run ended, so that another host need not wait for the heartbeat to grow old.
  ~RunLock();
  RunLock(const RunLock&) = delete;
  RunLock& operator=(const RunLock&) = delete;
  /// beat() with the present time, where the last one is 5 s old or more.
  Status pulse();
  /// Refreshes the heartbeat. \error kLocked when another run has taken the folder over: stop writing into it.
  Status beat(double now);
  /// Looks at the lock anew. \error kLocked when another run has taken the folder over, or removed the lock
  Status still_ours() const;

 private:
  RunLock(Fs& fs, std::string path, std::unique_ptr<FileLock> lock, LockOwner self);

  Fs& fs_;
  std::string path_;
  std::unique_ptr<FileLock> lock_;
  LockOwner self_;
};

/// This process on this host, now. The job is Slurm's or torchrun's, where the environment has one.
LockOwner this_process();

}  // namespace titan::ckpt
