#include "libtrain/job/control/wait_guard.h"

#include <gtest/gtest.h>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>

namespace titan::train::wait_guard_test {
namespace {

using namespace std::chrono_literals;

/// A wait that nothing but its end by abort() would end.
class Waiting {
 public:
  void abort() {
    const std::lock_guard lock(mutex_);
    aborted_ = true;
    changed_.notify_all();
  }
  bool wait(std::chrono::milliseconds most) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, most, [&] { return aborted_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool aborted_ = false;
};

TEST(GuardedWait, IsGivenUpAfterItsPatience) {
  Waiting waiting;
  const auto began = std::chrono::steady_clock::now();
  const GuardedWait guarded(700ms, {}, [&] { waiting.abort(); });
  EXPECT_TRUE(waiting.wait(60s));
  EXPECT_GE(std::chrono::steady_clock::now() - began, 700ms);
  EXPECT_EQ(guarded.given_up(), GuardedWait::GivenUp::kTimedOut);
}

TEST(GuardedWait, IsGivenUpForALostRank) {
  Waiting waiting;
  std::atomic<bool> lost = false;
  const GuardedWait guarded(
      24h, [&] { return lost.load(); }, [&] { waiting.abort(); });
  EXPECT_FALSE(waiting.wait(1200ms));
  EXPECT_EQ(guarded.given_up(), GuardedWait::GivenUp::kNo);
  lost = true;
  EXPECT_TRUE(waiting.wait(60s));
  EXPECT_EQ(guarded.given_up(), GuardedWait::GivenUp::kLostRank);
}

}  // namespace
}  // namespace titan::train::wait_guard_test
