#include "ckpt/base/lock_reach.h"

namespace titan::ckpt {

LockReach reach_of(const FileLock& lock) {
  const auto* knows = dynamic_cast<const ReachLock*>(&lock);
  return knows ? knows->reach() : LockReach::kKernel;
}

}  // namespace titan::ckpt
