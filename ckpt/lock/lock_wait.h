#pragma once
// How a process waits for a lock: the clock, the stop request, and the receiver of messages.
#include <functional>
#include <string>

#include "ckpt/base/cancel.h"

namespace titan::ckpt {

/// Settings of a wait for a lock, and of the heartbeats of a held lock.
struct LockWait {
  LockWait();                                   ///< the real clock, no messages, no cancellation
  std::function<double()> now;                  ///< a monotonic clock, in seconds
  std::function<void(double seconds)> sleep;    ///< lets the calling thread wait
  CancelToken cancel;                           ///< ends the wait, and recover_folder() (ckpt/run/recover.h)
  std::function<void(const std::string&)> say;  ///< gets messages: which holder is waited for, a store without file
                                                ///< locks, a heartbeat that cannot be written
  bool beats = true;  ///< true: a thread writes the heartbeat of a held lock; false: the holder calls NoteLock::pulse()
};

/// The LockWait of every lock in this process. A program may change it before it takes its first lock.
LockWait& lock_wait();

}  // namespace titan::ckpt
