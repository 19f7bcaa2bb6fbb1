#include "libtrain/engine/train/spin_guard.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>

namespace titan::train::spin_guard_test {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

std::ptrdiff_t threads_of_this_process() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"), std::filesystem::directory_iterator());
}

TEST(SpinGuard, ThreadsSleepWhileTheyWaitForCoresAndSpinOnceTheyDoNot) {
  EXPECT_FALSE(SpinGuard::should_sleep(0.00, true));
  EXPECT_TRUE(SpinGuard::should_sleep(0.07, true));  // between the bounds it stays as it is
  EXPECT_FALSE(SpinGuard::should_sleep(0.07, false));
  EXPECT_TRUE(SpinGuard::should_sleep(0.70, false));
}

TEST(SpinGuard, AUserWhoHasChosenIsNotOverruled) {
  for (const char* name : {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME"})
    EXPECT_TRUE(SpinGuard::user_has_chosen([name](const char* asked) {
      return asked == std::string(name) ? std::optional<std::string>("0") : std::nullopt;
    }));
  EXPECT_FALSE(SpinGuard::user_has_chosen([](const char*) { return std::nullopt; }));
}

TEST(SpinGuard, HoldsIdleThreadsAndChangesNoBit) {
  at::set_num_threads(2);
  const at::Tensor a = at::rand({300, 300}), b = at::rand({300, 300});
  SpinGuard guard;
  guard.hold(false);
  const at::Tensor before = a.matmul(b).tanh();
  const auto threads = threads_of_this_process();
  guard.hold(true);
  guard.hold(true);
  const at::Tensor during = a.matmul(b).tanh();
  EXPECT_GE(threads_of_this_process(), threads + 1);
  guard.hold(false);
  // The kernel wakes who joins a thread a moment before the thread is out of its list.
  // A thread of an earlier test may have ended, too.
  for (const auto begin = Clock::now(); threads_of_this_process() > threads && Clock::now() - begin < 10s;)
    std::this_thread::yield();
  EXPECT_LE(threads_of_this_process(), threads);
  EXPECT_TRUE(at::equal(before, during));
  EXPECT_TRUE(at::equal(before, a.matmul(b).tanh()));
}

}  // namespace
}  // namespace titan::train::spin_guard_test
