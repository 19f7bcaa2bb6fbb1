#include "libtrain/job/control/running_clock.h"

#include <gtest/gtest.h>
#include <unistd.h>
#include <chrono>
#include <csignal>
#include <iostream>
#include <thread>

#include "tests/support/child_process.h"

namespace titan::train::running_clock_test {
namespace {

using namespace std::chrono_literals;

TEST(GapFilter, LeavesOutATimeInWhichNobodyLooked) {
  const GapFilter::Time begin{};
  GapFilter filter(begin);
  EXPECT_EQ(filter.at(begin + 200ms), begin + 200ms);
  EXPECT_EQ(filter.at(begin + 2s), begin + 2s) << "a busy machine";
  EXPECT_EQ(filter.at(begin + 22s), begin + 2s + GapFilter::kTick);
  EXPECT_EQ(filter.at(begin + 22s + 100ms), begin + 2s + GapFilter::kTick + 100ms);
  EXPECT_EQ(filter.at(begin + 90s), begin + 2s + 2 * GapFilter::kTick + 100ms);
}

/// Runs until its clock has left out four seconds, a minute at most.
int be_timed() {
  const auto began = RunningClock::now();
  const auto steady = std::chrono::steady_clock::now();
  std::cout << "began" << std::endl;
  while (true) {
    std::this_thread::sleep_for(50ms);
    const auto all = std::chrono::steady_clock::now() - steady;
    if (all - (RunningClock::now() - began) > 4s) return 0;
    if (all > 60s) return 1;
  }
}

const test::TestRole timed("timed", be_timed);

TEST(RunningClock, StandsStillWhileTheProcessIsStopped) {
  test::ChildProcess child(test::this_program(), {}, {{"TITAN_TEST_ROLE", "timed"}});
  ASSERT_TRUE(child.wait_for_output("began")) << child.output();
  child.signal(SIGSTOP);
  std::this_thread::sleep_for(6s);
  child.signal(SIGCONT);
  EXPECT_EQ(child.wait(), 0) << child.output();
}

}  // namespace
}  // namespace titan::train::running_clock_test
