#pragma once
// Waits that cannot be cut into slices: one thread of the process looks twice a second whether one is to be given up.
#include <chrono>
#include <functional>

#include "libtrain/job/talk/running_clock.h"

namespace titan::train {

/// Stands for a wait of this thread while it lives.
class GuardedWait {
 public:
  enum class GivenUp { kNo, kTimedOut, kLostRank };

  /// Given up after `patience` of running time, and when `lost` says that a rank is lost. Then `abort` is called at
  /// each look, which ends the wait. Both run in the guard's thread, under its lock, and never after this has ended.
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
