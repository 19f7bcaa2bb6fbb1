#pragma once
// How a process waits for a lock: its clock, how it stops, and where its messages go.
#include <functional>
#include <string>

#include "ckpt/base/cancel.h"

namespace titan::ckpt {

struct LockWait {
  LockWait();                   ///< the real clock; messages are dropped, nothing can stop the wait
  std::function<double()> now;  ///< seconds of a monotonic clock
  std::function<void(double seconds)> sleep;
  CancelToken cancel;  ///< ends the wait, and the removal of what dead processes left
  std::function<void(const std::string&)>
      say;            ///< gets messages: whom a start waits for, a store without file locks, a heartbeat that fails
  bool beats = true;  ///< true: a thread writes the heartbeat of a held lock; false: the holder calls pulse()
};

/// The LockWait of every lock in this process. A program changes it before it takes its first lock.
LockWait& lock_wait();

}  // namespace titan::ckpt
