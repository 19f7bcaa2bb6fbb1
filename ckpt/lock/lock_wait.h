#pragma once
// How a process waits for a lock that another one may hold: the clock it uses, and whom it tells.
#include <functional>
#include <string>

#include "ckpt/base/cancel.h"

namespace titan::ckpt {

struct LockWait {
  LockWait();                   ///< the real clock; nobody is told, nobody can stop it
  std::function<double()> now;  ///< seconds of a clock that only goes forward
  std::function<void(double seconds)> sleep;
  CancelToken cancel;  ///< ends the waiting, and the work on what dead processes left
  std::function<void(const std::string&)>
      say;            ///< that a start waits and for whom, a store without file locks, a heartbeat that fails
  bool beats = true;  ///< a held lock writes its heartbeat from a thread; else its holder calls pulse()
};

/// What every lock of this process uses. A program changes it before it takes the first one.
LockWait& lock_wait();

}  // namespace titan::ckpt
