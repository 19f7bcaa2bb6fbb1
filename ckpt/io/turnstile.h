#pragma once
// Lets threads that work in parallel pass one by one, in order of a sequence.
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace titan::ckpt {

/// Thread-safe.
class Turnstile {
 public:
  /// Waits until `sequence` - 1 has passed, runs `step`, lets `sequence` + 1 pass. Returns false, without `step`, after
  /// stop().
  template <typename Step>
  bool pass(std::uint64_t sequence, const Step& step) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return next_ == sequence || stopped_; });
    if (stopped_) return false;
    step();
    ++next_;
    changed_.notify_all();
    return true;
  }
  /// Wakes everyone who waits: someone before them failed.
  void stop() {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t next_ = 0;
  bool stopped_ = false;
};

}  // namespace titan::ckpt
