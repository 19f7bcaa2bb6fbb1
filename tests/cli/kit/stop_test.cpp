#include "cli/kit/stop.h"
#include "ckpt/base/exit_code.h"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/support/files.h"

namespace titan::cli::stop_test {
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
  EXPECT_EXIT(poll_after(SIGHUP), ::testing::ExitedWithCode(143), "");
}

TEST(Stop, ASecondSignalEndsTheProcessAtOnce) {
  EXPECT_EXIT(two_signals(SIGINT, SIGINT), ::testing::ExitedWithCode(130),
              "error: interrupted\n  hint: stopped at once");
  EXPECT_EXIT(two_signals(SIGTERM, SIGINT), ::testing::ExitedWithCode(130),
              "error: interrupted\n  hint: stopped at once");
  EXPECT_EXIT(two_signals(SIGHUP, SIGTERM), ::testing::ExitedWithCode(143),
              "error: stopped by SIGTERM\n  hint: stopped");
}

[[noreturn]] void at_once(int signal, const StopLines& lines) {
  stop_at_once(lines);
  std::raise(signal);
  std::_Exit(97);
}

TEST(Stop, BeforeAnythingPollsASignalEndsTheProcessWithALine) {
  EXPECT_EXIT(at_once(SIGINT, {}), ::testing::ExitedWithCode(130), "^error: interrupted\n$");
  EXPECT_EXIT(at_once(SIGHUP, {.hint = "go on"}), ::testing::ExitedWithCode(143),
              "^error: stopped by SIGHUP\n  hint: go on\n$");
  EXPECT_EXIT(at_once(SIGUSR1, {.more = {SIGUSR1}}), ::testing::ExitedWithCode(143), "^error: stopped by SIGUSR1\n$");
  EXPECT_EXIT(at_once(SIGTERM, {.json = true}), ::testing::ExitedWithCode(143),
              "^\\{\"type\":\"error\",\"code\":143,.*\"message\":\"stopped by SIGTERM\"");
  EXPECT_EXIT(at_once(SIGINT, {.hint = std::string(10'000, 'x')}), ::testing::ExitedWithCode(130), "xxx\n$");
}

TEST(Stop, WhatIsHalfMadeIsRemovedAtAStopAtOnce) {
  const ckpt::testing::TempDir dir;
  const std::string half = dir / "half", kept = dir / "kept";
  for (const std::string& name : {half, kept}) std::ofstream(name) << "x";
  const auto stop = [&](const std::string& last) {
    remove_at_stop(half);
    if (last.empty()) remove_at_stop("");
    at_once(SIGINT, {});
  };
  EXPECT_EXIT(stop(""), ::testing::ExitedWithCode(130), "");
  EXPECT_TRUE(std::filesystem::exists(half));
  EXPECT_EXIT(stop("stays"), ::testing::ExitedWithCode(130), "");
  EXPECT_FALSE(std::filesystem::exists(half));
  EXPECT_TRUE(std::filesystem::exists(kept));
}

TEST(Stop, ASignalThatTheParentIgnoredStaysIgnored) {
  EXPECT_EXIT((std::signal(SIGINT, SIG_IGN), at_once(SIGINT, {})), ::testing::ExitedWithCode(97), "");
  EXPECT_EXIT((std::signal(SIGINT, SIG_IGN), poll_after(SIGINT)), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace titan::cli::stop_test
