#include "cli/kit/stop.h"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>

namespace titan::cli {
namespace {

/// What a program does that polls the token after signal `first`.
[[noreturn]] void poll_after(int first) {
  const ckpt::CancelToken token = stop_on_signals();
  if (token.stopped()) std::_Exit(99);
  std::raise(first);
  std::_Exit(ckpt::exit_code(token.check().code));
}

[[noreturn]] void two_signals(int first, int second) {
  (void)stop_on_signals();
  std::raise(first);
  std::raise(second);
  std::_Exit(98);
}

TEST(Stop, TheFirstSignalAsksAndDecidesTheExitCode) {
  EXPECT_EXIT(poll_after(SIGINT), ::testing::ExitedWithCode(130), "");
  EXPECT_EXIT(poll_after(SIGTERM), ::testing::ExitedWithCode(143), "");
}

TEST(Stop, ASecondSignalEndsTheProcessAtOnce) {
  EXPECT_EXIT(two_signals(SIGINT, SIGINT), ::testing::KilledBySignal(SIGINT), "");
  EXPECT_EXIT(two_signals(SIGTERM, SIGINT), ::testing::KilledBySignal(SIGINT), "");
}

TEST(Stop, ASignalThatTheParentIgnoredStaysIgnored) {
  EXPECT_EXIT((std::signal(SIGINT, SIG_IGN), poll_after(SIGINT)), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace titan::cli
