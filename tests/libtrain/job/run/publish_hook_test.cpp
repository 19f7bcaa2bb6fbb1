#include "libtrain/job/run/publish_hook.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <thread>

#include "ckpt/base/fs.h"
#include "ckpt/base/fs_posix.h"
#include "tests/support/child_process.h"
#include "tests/support/files.h"

namespace titan::train::publish_hook_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using namespace std::chrono_literals;

bool never() { return false; }
bool at_once() { return true; }

class Hook : public ::testing::Test {
 protected:
  PublishHook::Options options(const std::string& command, double limit = 60) {
    return {
        command,
        dir_ / "output",
        limit,
        [](const Publish& one) { return one.path == "/gone" ? ckpt::not_found("/gone is gone") : ckpt::ok_status(); },
        [this](const std::string& text) { problems_.push_back(text); },
        [this](const std::string& text) { said_.push_back(text); },
        [this](const Publish& one) { done_.push_back(one.step); }};
  }
  std::string output() {
    return ckpt::posix_fs().stat(dir_ / "output").ok() ? ckpt::testing::get_text(ckpt::posix_fs(), dir_ / "output")
                                                       : "";
  }
  void wait_for_output(const std::string& text) {
    while (output() != text) std::this_thread::sleep_for(5ms);
  }

  ckpt::testing::TempDir dir_;
  std::vector<std::string> problems_, said_;
  std::vector<std::uint64_t> done_;
};

TEST_F(Hook, RunsForAPublishWithItsStepAndPath) {
  PublishHook hook(options("echo \"$TITAN_STEP $TITAN_CHECKPOINT\""));
  hook.published({10, "/run/step-00000010", {}});
  hook.finish(never);
  EXPECT_EQ(output(), "10 /run/step-00000010\n");
  EXPECT_THAT(problems_, IsEmpty());
  EXPECT_THAT(done_, ElementsAre(10));
}

TEST_F(Hook, WaitingStepsArePassedOverForTheNewestAndWhatIsInUseIsKnown) {
  const std::string gate = dir_ / "gate";
  PublishHook hook(options("echo $TITAN_STEP; until test -e " + gate + "; do sleep 0.01; done"));
  EXPECT_FALSE(hook.busy());
  hook.published({10, "/a", {}});
  wait_for_output("10\n");
  hook.published({20, "/b", {}});
  hook.published({30, "/c", {}});
  EXPECT_TRUE(hook.busy());
  EXPECT_TRUE(hook.in_use(10) && hook.in_use(30));
  EXPECT_FALSE(hook.in_use(20));
  ASSERT_TRUE(ckpt::testing::put_text(ckpt::posix_fs(), gate, "").ok());
  hook.finish(never);
  EXPECT_EQ(output(), "10\n30\n");
  EXPECT_THAT(said_, ElementsAre("checkpoint.on_publish skips step 20: step 30 is newer"));
  EXPECT_THAT(done_, ElementsAre(10, 30));
  EXPECT_FALSE(hook.in_use(10) || hook.in_use(30) || hook.busy());
}

TEST_F(Hook, AFailureIsToldAndTheNextOneRuns) {
  PublishHook hook(options("echo $TITAN_STEP; test $TITAN_STEP = 20 || exit 7"));
  hook.published({10, "/a", {}});
  hook.finish(never);
  EXPECT_EQ(output(), "10\n");
  EXPECT_THAT(problems_, ElementsAre(HasSubstr("for step 10 failed: exit code 7 (its output: ")));
  EXPECT_THAT(done_, IsEmpty());
}

TEST_F(Hook, ACommandThatTakesTooLongIsEndedWithItsChildren) {
  PublishHook hook(options("sleep 60 & sleep 60; echo late", 0.05));
  hook.published({10, "/a", {}});
  hook.finish(never);
  EXPECT_THAT(problems_, ElementsAre(HasSubstr("for step 10 was ended: it took longer than")));
  EXPECT_EQ(output(), "");
}

TEST_F(Hook, AStopEndsTheWaitAndSaysWhatTheNextStartRuns) {
  const auto begin = std::chrono::steady_clock::now();
  {
    PublishHook hook(options("echo $TITAN_STEP; sleep 60"));
    hook.published({10, "/a", {}});
    wait_for_output("10\n");
    hook.published({20, "/b", {}});
    hook.finish(at_once);
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 30s);
  EXPECT_THAT(
      problems_,
      ElementsAre(
          HasSubstr("for step 10 was ended: the run has ended; the next start runs the command for the newest step"),
          HasSubstr("did not run for step 20: the run has ended; the next start runs the command")));
  EXPECT_THAT(done_, IsEmpty());
}

TEST_F(Hook, ACommandIsNoRankOfTheRun) {
  const char* names[] = {"RANK",         "WORLD_SIZE",         "LOCAL_RANK",      "LOCAL_WORLD_SIZE", "MASTER_ADDR",
                         "MASTER_PORT",  "TITAN_LAUNCHER_PID", "TITAN_MASTER_FD", "TITAN_REPORT_FD",  "OMP_NUM_THREADS",
                         "SLURM_PROCID", "TORCHELASTIC_RUN_ID"};
  for (const char* name : names) setenv(name, "0", 1);
  setenv("TEST_KEPT", "kept", 1);
  PublishHook hook(options("env"));
  hook.published({10, "/a", {}});
  hook.finish(never);
  for (const char* name : names) {
    unsetenv(name);
    EXPECT_THAT("\n" + output(), Not(HasSubstr("\n" + std::string(name) + "="))) << name;
  }
  EXPECT_THAT(output(), HasSubstr("TEST_KEPT=kept\n"));
}

/// Has a command run until it is killed.
int be_publishing() {
  const auto nothing = [](const std::string&) {};
  PublishHook hook({"echo pid $$.; sleep 300 & echo pid $!.; wait; true", std::getenv("TEST_OUTPUT"), 600,
                    [](const Publish&) { return ckpt::ok_status(); }, nothing, nothing, [](const Publish&) {}});
  hook.published({10, "/a", {}});
  hook.finish(never);
  return 0;
}

const test::TestRole publishing_role("publishing", be_publishing);

TEST_F(Hook, ACommandDiesWithTheProcessThatStartedItAndItsChildrenToo) {
  test::ChildProcess owner(test::this_program(), {},
                           {{"TITAN_TEST_ROLE", "publishing"}, {"TEST_OUTPUT", dir_ / "output"}});
  const auto lines = [this] { return std::ranges::count(output(), '\n'); };
  while (lines() < 2) std::this_thread::sleep_for(5ms);
  std::vector<int> pids;
  for (std::size_t at = 0; (at = output().find("pid ", at)) != std::string::npos; ++at)
    pids.push_back(std::atoi(output().c_str() + at + 4));
  ASSERT_EQ(pids.size(), 2U);
  kill(owner.pid(), SIGKILL);
  for (const int pid : pids) EXPECT_TRUE(test::wait_until_gone(pid, 10s)) << pid;
}

TEST_F(Hook, ACommandIsNotGivenAStepThatIsNoLongerThere) {
  PublishHook hook(options("echo $TITAN_STEP"));
  hook.published({10, "/gone", {}});
  hook.finish(never);
  EXPECT_EQ(output(), "");
  EXPECT_THAT(problems_, ElementsAre(HasSubstr("for step 10 did not run: /gone is gone")));
  EXPECT_THAT(done_, IsEmpty());
}

}  // namespace
}  // namespace titan::train::publish_hook_test
