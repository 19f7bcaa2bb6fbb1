#include "libtrain/job/launch/signals.h"

#include <gtest/gtest.h>
#include <unistd.h>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <regex>
#include <string>
#include <thread>

#include "tests/support/child_process.h"

namespace titan::train::signals_test {
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
  EXPECT_NE(rank.output().find("note: stopped at once by a second Ctrl-C\n"), std::string::npos) << rank.output();
}

TEST(StopWords, ARankThatLeavesAtOnceSaysSoUnlessAnotherSpeaksForIt) {
  const struct {
    std::map<std::string, std::string> environment;
    const char* said;
  } cases[] = {{{{"RANK", "1"}}, "note: rank 1 was stopped at once by a second Ctrl-C\n"},
               {{{"RANK", "0"}, {"TITAN_LAUNCHER_PID", "1"}}, "note: rank 0 was stopped at once by a second Ctrl-C\n"},
               {{{"RANK", "1"}, {"TITAN_LAUNCHER_PID", "1"}}, ""}};
  for (auto c : cases) {
    c.environment["TITAN_TEST_ROLE"] = "stoppable-rank";
    test::ChildProcess rank(test::this_program(), {}, c.environment);
    ASSERT_TRUE(rank.wait_for_output("ready 00."));
    rank.signal(SIGINT);
    ASSERT_TRUE(rank.wait_for_output("stop 2.")) << rank.output();
    rank.signal(SIGINT);
    EXPECT_EQ(rank.wait(), 130);
    EXPECT_TRUE(rank.output().ends_with(std::string("ready 00.\nstop 2.\n") + c.said)) << rank.output();
  }
}

/// Speaks of stops, with the progress "PHASE STEP SAVED" of the environment.
int be_speaker() {
  sigset_t all, old;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, &old);
  install_stop_handlers();
  speak_of_stops({std::getenv("TEST_LOG"), std::getenv("TEST_SAVES") == nullptr,
                  std::getenv("TEST_GO_ON") ? "the same job continues" : ""});
  int phase = 0;
  unsigned long long step = 0, saved = 0;
  std::sscanf(std::getenv("TEST_PROGRESS"), "%d %llu %llu", &phase, &step, &saved);
  note_progress(static_cast<StopPhase>(phase), step, saved);
  std::cout << "ready." << std::endl;
  while (true) {
    sigsuspend(&old);
    std::cout << "handled." << std::endl;
  }
}

const test::TestRole speaker_role("speaker", be_speaker);

struct Said {
  std::string first, last;
};

/// The lines that a rank with this progress adds to its log at two SIGINTs, without their time.
Said said(const std::string& progress, const std::map<std::string, std::string>& more = {}) {
  const std::string log = testing::TempDir() + "/speaker-" + std::to_string(getpid()) + ".log";
  std::ofstream(log) << "before\n";
  std::map<std::string, std::string> environment = {
      {"TITAN_TEST_ROLE", "speaker"}, {"TEST_LOG", log}, {"TEST_PROGRESS", progress}};
  environment.insert(more.begin(), more.end());
  test::ChildProcess rank(test::this_program(), {}, environment);
  EXPECT_TRUE(rank.wait_for_output("ready."));
  rank.signal(SIGINT);
  EXPECT_TRUE(rank.wait_for_output("handled."));
  rank.signal(SIGINT);
  EXPECT_EQ(rank.wait(), 130);
  std::ifstream file(log);
  std::string line, lines[3];
  for (std::string& text : lines) std::getline(file, text);
  EXPECT_EQ(lines[0], "before");
  EXPECT_FALSE(std::getline(file, line)) << line;
  const std::regex time("^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z W r0 ");
  for (const int i : {1, 2}) {
    EXPECT_TRUE(std::regex_search(lines[i], time)) << lines[i];
    EXPECT_NE(rank.output().find(lines[i] + "\n"), std::string::npos) << "on stderr, too: " << lines[i];
  }
  return {std::regex_replace(lines[1], time, ""), std::regex_replace(lines[2], time, "")};
}

TEST(StopWords, SayWhatASecondInterruptWouldLoseAndHasLost) {
  Said words = said("1 337 300");
  EXPECT_EQ(words.first,
            "Ctrl-C: stopping after this step, then saving it; Ctrl-C again stops at once and loses the 37 steps since "
            "step 300");
  EXPECT_EQ(words.last, "Ctrl-C: stopped without a save; the 37 steps since step 300 are lost");
  words = said("1 301 300", {{"TEST_GO_ON", "1"}});
  EXPECT_EQ(words.last, "Ctrl-C: stopped without a save; the 1 step since step 300 is lost; the same job continues");
  words = said("1 300 300");
  EXPECT_EQ(words.first,
            "Ctrl-C: stopping after this step, then saving it; Ctrl-C again stops at once and loses this step");
  EXPECT_EQ(words.last, "Ctrl-C: stopped within a step; step 300 is saved, no other is lost");
  words = said("1 12 0");
  EXPECT_EQ(words.last, "Ctrl-C: stopped without a save; all 12 steps so far are lost");
  words = said("0 300 300");
  EXPECT_EQ(words.first, "Ctrl-C: stopping; nothing is lost");
  EXPECT_EQ(words.last, "Ctrl-C: stopped before the end of the first step; nothing is lost");
  words = said("3 0 0");
  EXPECT_EQ(words.first, "Ctrl-C: stopping; nothing is lost");
  EXPECT_EQ(words.last, "Ctrl-C: stopped before the end of the first step; nothing is lost");
  words = said("2 300 300");
  EXPECT_EQ(words.first, "Ctrl-C: ending already");
  words = said("1 12 0", {{"TEST_SAVES", "no"}});
  EXPECT_EQ(words.first,
            "Ctrl-C: stopping after this step; nothing is saved (checkpoint.enable = false); Ctrl-C again stops at "
            "once and loses all 12 steps so far");
}

/// Says which stop signals are blocked in the thread that computes and in one that it starts.
int be_computing() {
  install_stop_handlers();
  handle_stops_in_own_thread();
  handle_stops_in_own_thread();
  const auto say = [] {
    sigset_t blocked;
    pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
    for (const int signal : {SIGTERM, SIGUSR1, SIGINT, SIGHUP}) std::cout << sigismember(&blocked, signal);
    std::cout << std::endl;
  };
  say();
  std::thread(say).join();
  while (!stop_requested()) std::this_thread::yield();
  std::cout << "stop " << stop_signal() << "." << std::endl;
  while (true) ::pause();
}

const test::TestRole computing_role("computing", be_computing);

TEST(StopSignals, AreHandledByAThreadThatDoesNotCompute) {
  test::ChildProcess rank(test::this_program(), {}, {{"TITAN_TEST_ROLE", "computing"}});
  ASSERT_TRUE(rank.wait_for_output("1111\n1111\n")) << rank.output();
  rank.signal(SIGINT);
  ASSERT_TRUE(rank.wait_for_output("stop 2.")) << rank.output();
  rank.signal(SIGINT);
  EXPECT_EQ(rank.wait(), 130) << rank.output();
}

TEST(StopSignals, LeaveAnIgnoredHangupIgnored) {
  const auto before = std::signal(SIGHUP, SIG_IGN);
  EXPECT_EQ(std::ranges::count(stop_signals(), SIGHUP), 0);
  std::signal(SIGHUP, SIG_DFL);
  EXPECT_EQ(std::ranges::count(stop_signals(), SIGHUP), 1);
  std::signal(SIGHUP, before);
}

INSTANTIATE_TEST_SUITE_P(All, Signals, testing::Values(SIGTERM, SIGHUP, SIGUSR1, SIGINT));

}  // namespace
}  // namespace titan::train::signals_test
