#include "libtrain/parallel/running_clock.h"

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

int be_timed() {
  const auto began = RunningClock::now();
  std::cout << "began" << std::endl;
  std::this_thread::sleep_for(5s);
  const auto spent = std::chrono::duration_cast<std::chrono::milliseconds>(RunningClock::now() - began);
  std::cout << "spent " << (spent < 4s ? "less" : "all") << "." << std::endl;
  return 0;
}

const test::TestRole timed("timed", be_timed);

TEST(RunningClock, StandsStillWhileTheProcessIsStopped) {
  test::ChildProcess child(test::this_program(), {}, {{"TITAN_TEST_ROLE", "timed"}});
  ASSERT_TRUE(child.wait_for_output("began")) << child.output();
  child.signal(SIGSTOP);
  std::this_thread::sleep_for(6s);
  child.signal(SIGCONT);
  EXPECT_EQ(child.wait(), 0) << child.output();
  EXPECT_NE(child.output().find("spent less."), std::string::npos) << child.output();
}

}  // namespace
}  // namespace titan::train::running_clock_test
