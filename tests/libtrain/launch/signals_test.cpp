#include "libtrain/launch/signals.h"

#include <csignal>
#include <gtest/gtest.h>
#include <iostream>
#include <unistd.h>

#include "tests/support/child_process.h"

namespace titan::train {
namespace {

/// Waits for signals as a training rank would between its steps; says what it noted.
int be_rank() {
  sigset_t all, old;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, &old);
  install_stop_handlers();
  std::cout << "ready " << stop_requested() << stop_signal() << "." << std::endl;
  while (!stop_requested()) sigsuspend(&old);
  std::cout << "stop " << stop_signal() << "." << std::endl;
  while (true) {
    sigsuspend(&old);
    std::cout << "again " << stop_signal() << "." << std::endl;
  }
}

const test::TestRole rank_role("stoppable-rank", be_rank);

class Signals : public testing::TestWithParam<int> {};

TEST_P(Signals, TheFirstOneAsksForAStopAndOnlyASecondInterruptAborts) {
  test::ChildProcess rank(test::this_program(), {}, {{"TITAN_TEST_ROLE", "stoppable-rank"}});
  ASSERT_TRUE(rank.wait_for_output("ready 00."));
  rank.signal(GetParam());
  const std::string number = std::to_string(GetParam());
  ASSERT_TRUE(rank.wait_for_output("stop " + number + ".")) << rank.output();
  rank.signal(SIGTERM);
  ASSERT_TRUE(rank.wait_for_output("again " + number + ".")) << rank.output();
  rank.signal(SIGINT);
  if (GetParam() != SIGINT) {
    ASSERT_TRUE(rank.wait_for_output("again " + number + ".\nagain " + number + ".")) << rank.output();
    rank.signal(SIGINT);
  }
  EXPECT_EQ(rank.wait(), 130) << rank.output();
}

INSTANTIATE_TEST_SUITE_P(All, Signals, testing::Values(SIGTERM, SIGUSR1, SIGINT));

}  // namespace
}  // namespace titan::train
