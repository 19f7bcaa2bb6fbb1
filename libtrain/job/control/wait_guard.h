#pragma once
// For waits that cannot be divided into short ones: one thread of the process checks twice a second whether a wait must
// be aborted.
#include <chrono>
#include <functional>

#include "libtrain/job/control/running_clock.h"

namespace titan::train {

/// Guards a wait of this thread during its lifetime.
class GuardedWait {
 public:
  enum class GivenUp { kNo, kTimedOut, kLostRank };

  /// Aborts the wait after `patience` of RunningClock time, or when `lost` returns true (a rank is lost): from then on
  /// each check calls `abort`, which ends the wait. Both functions run in the guard's thread, under its lock, and never
  /// after this object is destroyed.
  GuardedWait(std::chrono::milliseconds patience, std::function<bool()> lost, std::function<void()> abort);
  ~GuardedWait();
  GuardedWait(const GuardedWait&) = delete;
  GuardedWait& operator=(const GuardedWait&) = delete;

  GivenUp given_up() const;

 private:
  friend struct WaitGuard;
  void look(RunningClock::time_point now);

  const RunningClock::time_point deadline_;
  const std::function<bool()> lost_;
  const std::function<void()> abort_;
  GivenUp given_up_ = GivenUp::kNo;  ///< under the guard's lock
};

}  // namespace titan::train
