#include "libtrain/job/launch/process_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
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

TEST(ProcessState, AKilledChildThatWaitsForTheCoreHasEnded) {
  cpu_set_t before, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  CPU_ZERO(&one);
  CPU_SET(static_cast<std::size_t>(sched_getcpu()), &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    const sched_param least{};
    if (sched_setscheduler(0, SCHED_IDLE, &least) != 0 || write(ready[1], "", 1) != 1) _exit(1);
    while (true) pause();
  }
  char byte = 0;
  EXPECT_EQ(read(ready[0], &byte, 1), 1);
  kill(child, SIGKILL);
  EXPECT_TRUE(has_ended(child)) << "this process has not left the core";
  EXPECT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
  close(ready[0]);
  close(ready[1]);
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
