#pragma once
// How a process waits for a lock: its clock, how it stops, and where its messages go.
#include <functional>
#include <string>

#include "ckpt/base/cancel.h"

namespace titan::ckpt {

struct LockWait {
  LockWait();                   ///< the real clock, no messages, no cancellation
  std::function<double()> now;  ///< a monotonic clock, in seconds
  std::function<void(double seconds)> sleep;
  CancelToken cancel;                           ///< ends the wait, and the removal of leftovers of dead processes
  std::function<void(const std::string&)> say;  ///< gets messages: which holder a start waits for, a store without file
                                                ///< locks, a failing heartbeat
  bool beats = true;  ///< true: a thread writes the heartbeat of a held lock; false: the holder calls pulse()
};

/// The LockWait of every lock in this process. A program may change it before it takes its first lock.
LockWait& lock_wait();

}  // namespace titan::ckpt
