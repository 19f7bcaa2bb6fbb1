#pragma once
// The lock of a run folder. \source FORMAT.md, "The lock of a run"
#include <memory>
#include <string>

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

/// Holds `<run>/run.lock` until destroyed; beat() refreshes the heartbeat (call about every 10 s).
class RunLock {
 public:
  /// \error kLocked: who holds it since when. Another host's lock is stale after 60 s without a heartbeat, or at once
  /// when the same job id comes with a higher restart count.
  static Result<std::unique_ptr<RunLock>> take(Fs& fs, const std::string& run_dir, LockOwner self);
  ~RunLock();
  Status beat(double now);

 private:
  RunLock(std::unique_ptr<FileLock> lock, LockOwner self);
  std::unique_ptr<FileLock> lock_;
  LockOwner self_;
};

/// This process on this host.
LockOwner this_process();

}  // namespace titan::ckpt
