#pragma once
// Lets parallel threads pass one at a time, in the order of their sequence numbers.
#include <cstdint>

#include "ckpt/base/mutex.h"

namespace titan::ckpt {

/// Orders the threads of one task. Thread-safe. The first sequence number is 0.
class Turnstile {
 public:
  /// Waits until `sequence` - 1 has passed, runs `step`, then lets `sequence` + 1 pass. After stop() it returns false
  /// without running `step`.
  template <typename Step>
  bool pass(std::uint64_t sequence, const Step& step) {
    MutexLock lock(mutex_);
    while (next_ != sequence && !stopped_) changed_.wait(lock);
    if (stopped_) return false;
    step();
    ++next_;
    changed_.notify_all();
    return true;
  }
  /// Wakes all waiting threads after a failure: their pass() returns false.
  void stop() {
    const MutexLock lock(mutex_);
    stopped_ = true;
    changed_.notify_all();
  }

 private:
  Mutex mutex_;
  Condition changed_;
  std::uint64_t next_ TITAN_GUARDED_BY(mutex_) = 0;
  bool stopped_ TITAN_GUARDED_BY(mutex_) = false;
};

}  // namespace titan::ckpt
