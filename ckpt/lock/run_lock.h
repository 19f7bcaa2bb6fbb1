#pragma once
// The lock of a run folder. \source FORMAT.md, "The lock of a run"
#include <memory>
#include <string>

#include "ckpt/lock/note_lock.h"

namespace titan::ckpt {

class Fs;

inline constexpr const char* kRunLockFile = "run.lock";

/// The lock `<folder>/run.lock`.
struct RunLock {
  /// Takes the lock. `self` is the note of this process (this_process()). May wait kSilenceSeconds to find out whether
  /// a holder that this host's kernel does not see is alive, and then kSettleSeconds. \error kLocked (names the holder,
  /// and since when), kInterrupted or kTerminated (`wait.cancel` ended the wait), kMediaError, kFailed
  static Result<std::unique_ptr<NoteLock>> take(Fs& fs, const std::string& folder, LockOwner self,
                                                const LockWait& wait = lock_wait());
  /// As take(), but without NoteLock::settle: for callers that claim several locks and settle them together.
  static Result<std::unique_ptr<NoteLock>> claim(Fs& fs, const std::string& folder, const LockOwner& self,
                                                 const LockWait& wait = lock_wait());
  /// Checks whether a live process holds the lock of `folder`, as may_live() judges its note. Writes nothing and takes
  /// no lock. \error kLocked (a holder may be alive), the errors of read_file()
  static Status look(Fs& fs, const std::string& folder, const LockOwner& self);
};

}  // namespace titan::ckpt
