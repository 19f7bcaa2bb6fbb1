#pragma once
// The lock of a run folder. \source FORMAT.md, "The lock of a run"
#include <memory>
#include <string>

#include "ckpt/base/fs.h"
#include "ckpt/lock/note_lock.h"

namespace titan::ckpt {

inline constexpr const char* kRunLockFile = "run.lock";

/// `<folder>/run.lock`.
struct RunLock {
  /// Takes the lock; self.heartbeat is the present time. May wait for kSilenceSeconds to see whether a holder on
  /// another host lives. \error kLocked: who holds it since when; kFailed
  static Result<std::unique_ptr<NoteLock>> take(Fs& fs, const std::string& folder, LockOwner self,
                                                const LockWait& wait = lock_wait());
  /// The same before NoteLock::settle, for whoever takes several.
  static Result<std::unique_ptr<NoteLock>> claim(Fs& fs, const std::string& folder, const LockOwner& self,
                                                 const LockWait& wait = lock_wait());
  /// Whether `folder` has a holder that lives, by its note alone: nothing is written or locked. \error kLocked, kFailed
  static Status look(Fs& fs, const std::string& folder, const LockOwner& self);
};

}  // namespace titan::ckpt
