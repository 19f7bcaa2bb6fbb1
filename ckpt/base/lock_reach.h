#pragma once
// Who sees an advisory lock that was granted.
#include "ckpt/base/fs.h"

namespace titan::ckpt {

enum class LockReach {
  kKernel,   ///< everybody who can reach the file: the store belongs to this host
  kUnknown,  ///< this host; others perhaps, as their mount options say
  kNone,     ///< nobody: the store has no such locks, and Fs::lock grants every one
};

/// A lock that knows its reach.
class ReachLock : public FileLock {
 public:
  virtual LockReach reach() const = 0;
};

/// The reach of `lock`; kKernel for one that does not know its own.
LockReach reach_of(const FileLock& lock);

}  // namespace titan::ckpt
