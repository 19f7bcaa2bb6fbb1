#include "libtrain/job/launch/process_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace titan::train::process_state_test {
namespace {

TEST(ProcessState, OfAChildThatWaitsIsStoppedAndEnds) {
  const pid_t child = fork();
  if (child == 0) {
    while (true) pause();
  }
  ASSERT_GT(child, 0);
  EXPECT_FALSE(has_ended(child) || is_stopped(child));
  kill(child, SIGSTOP);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, WUNTRACED), child);
  EXPECT_TRUE(is_stopped(child));
  EXPECT_FALSE(has_ended(child));
  kill(child, SIGKILL);
  siginfo_t gone{};
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &gone, WEXITED | WNOWAIT), 0);
  EXPECT_TRUE(has_ended(child)) << "nobody has reaped it";
  EXPECT_FALSE(is_stopped(child));
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(has_ended(child));
}

TEST(ProcessState, NoProcessHasNotEnded) {
  EXPECT_FALSE(has_ended(0));
  EXPECT_FALSE(has_ended(-1)) << "these are no numbers of one process";
  EXPECT_FALSE(has_ended(getpid()));
  EXPECT_FALSE(is_stopped(0));
}

TEST(ProcessLimits, RefusesTooFewOpenFilesWithTheCommandThatHelps) {
  EXPECT_TRUE(check_open_files(kLeastOpenFiles).ok());
  EXPECT_TRUE(check_open_files(RLIM_INFINITY).ok());
  const ckpt::Status few = check_open_files(kLeastOpenFiles - 1);
  EXPECT_EQ(few.code, ckpt::Code::kFailed);
  EXPECT_THAT(few.message, ::testing::HasSubstr("63 files"));
  EXPECT_EQ(few.hint, "ulimit -n 1024");
}

TEST(ProcessLimits, LooksAtTheLimitOfThisProcess) {
  rlimit old{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &old), 0);
  rlimit few = old;
  few.rlim_cur = 40;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  const ckpt::Status status = check_process_limits();
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &old), 0);
  EXPECT_THAT(status.message, ::testing::HasSubstr("40 files"));
}

}  // namespace
}  // namespace titan::train::process_state_test
