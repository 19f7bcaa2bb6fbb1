#include "ckpt/io/run_lock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "tests/support/failing_fs.h"
#include "tests/support/files.h"
#include "tests/support/mem_fs.h"

namespace titan::ckpt {
namespace {

using ::testing::HasSubstr;
using testing::get_text;
using testing::MemFs;
using testing::put_text;

LockOwner owner(const std::string& host, double heartbeat, const std::string& job = "", std::uint32_t restarts = 0) {
  return {host, "boot-of-" + host, job, 42, restarts, "2025-01-01T00:00:00Z", heartbeat};
}

TEST(LockOwner, TextFormHasEveryFieldAndParsesBack) {
  LockOwner self = owner("node \"7\"", 1735689600.25, "slurm:99", 3);
  const std::string text = encode_lock_owner(self);
  for (const char* key : {"\"host\"", "\"boot_id\"", "\"pid\"", "\"since\"", "\"job_id\"", "\"restart_count\"", "\"heartbeat\""})
    EXPECT_THAT(text, HasSubstr(key));
  EXPECT_EQ(*decode_lock_owner(text), self);
  EXPECT_EQ(*decode_lock_owner(text + "00}\n"), self) << "the tail of a longer old note";
}

TEST(LockOwner, UnreadableNotesAreCorrupt) {
  const std::string good = encode_lock_owner(owner("a", 1));
  for (const std::string& text : {std::string(), std::string("{"), std::string("[]"), std::string("{}"), good.substr(0, 30),
                                  std::string("{\"host\":1}"), std::string(16'000, '['), std::string(10, '\0')})
    EXPECT_EQ(decode_lock_owner(text).status().code, Code::kCorrupt) << text.substr(0, 40);
}

TEST(HolderIsGone, HostHeartbeatAndRestartsDecide) {
  LockOwner other_name = owner("a", 1000);
  other_name.host = "container-1";  // same kernel under another name
  LockOwner rebooted = owner("a", 1000);
  rebooted.boot_id = "older boot";
  struct Case {
    const char* what;
    LockOwner holder, self;
    bool gone;
  };
  const Case cases[] = {
      {"same host, fresh heartbeat: the advisory lock is the proof", owner("a", 1000), owner("a", 1001), true},
      {"same kernel", other_name, owner("a", 1001), true},
      {"same host after a reboot", rebooted, owner("a", 1001), true},
      {"other host, alive", owner("b", 1000), owner("a", 1059.9), false},
      {"other host, silent for 60 s", owner("b", 1000), owner("a", 1060), true},
      {"other host, its clock ahead", owner("b", 1000), owner("a", 900), false},
      {"other host, ended properly", owner("b", 0), owner("a", 1000), true},
      {"requeued job", owner("b", 1000, "slurm:1", 0), owner("a", 1001, "slurm:1", 1), true},
      {"same restart of the same job", owner("b", 1000, "slurm:1", 1), owner("a", 1001, "slurm:1", 1), false},
      {"older restart of the same job", owner("b", 1000, "slurm:1", 2), owner("a", 1001, "slurm:1", 1), false},
      {"another job", owner("b", 1000, "slurm:1", 0), owner("a", 1001, "slurm:2", 5), false},
      {"no job at all", owner("b", 1000, "", 0), owner("a", 1001, "", 1), false},
  };
  for (const Case& c : cases) EXPECT_EQ(holder_is_gone(c.holder, c.self), c.gone) << c.what;
}

class RunLockTest : public ::testing::Test {
 protected:
  RunLockTest() { EXPECT_TRUE(fs.make_dir("/run").ok()); }
  MemFs fs;
};

TEST_F(RunLockTest, ASecondRunOnTheSameHostIsToldWhoHoldsItSinceWhen) {
  auto first = RunLock::take(fs, "/run", owner("a", 1000, "slurm:7", 2));
  ASSERT_TRUE(first.ok()) << first.status().to_string();
  LockOwner late = owner("a", 9000, "slurm:7", 3);  // neither age nor restarts count here
  auto second = RunLock::take(fs, "/run", late);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.status().code, Code::kLocked);
  for (const char* part : {"/run", "process 42", "host a", "since 2025-01-01T00:00:00Z", "job slurm:7", "8000 s old"})
    EXPECT_THAT(second.status().to_string(), HasSubstr(part));
}

TEST_F(RunLockTest, EndingARunFreesItForEveryHostAtOnce) {
  RunLock::take(fs, "/run", owner("a", 1000)).value().reset();
  EXPECT_EQ(decode_lock_owner(get_text(fs, "/run/run.lock"))->heartbeat, 0);
  EXPECT_TRUE(RunLock::take(fs, "/run", owner("b", 1001)).ok());
}

TEST_F(RunLockTest, AnotherHostsNoteIsHonouredWhereTheAdvisoryLockIsNotShared) {
  ASSERT_TRUE(put_text(fs, "/run/run.lock", encode_lock_owner(owner("b", 1000))).ok());
  auto early = RunLock::take(fs, "/run", owner("a", 1030));
  ASSERT_FALSE(early.ok());
  EXPECT_EQ(early.status().code, Code::kLocked);
  EXPECT_EQ(decode_lock_owner(get_text(fs, "/run/run.lock"))->host, "b") << "the note stays";
  EXPECT_TRUE(RunLock::take(fs, "/run", owner("a", 1061)).ok());
}

TEST_F(RunLockTest, AnUnreadableNoteOfADeadRunDoesNotLockForEver) {
  ASSERT_TRUE(put_text(fs, "/run/run.lock", "{\"host\":\"b").ok());
  EXPECT_TRUE(RunLock::take(fs, "/run", owner("a", 1000)).ok());
}

TEST_F(RunLockTest, BeatRefreshesTheNote) {
  auto lock = RunLock::take(fs, "/run", owner("a", 1000));
  ASSERT_TRUE(lock.ok());
  ASSERT_TRUE((*lock)->beat(1010.5).ok());
  LockOwner expected = owner("a", 1010.5);
  EXPECT_EQ(*decode_lock_owner(get_text(fs, "/run/run.lock")), expected);
}

TEST_F(RunLockTest, BeatNoticesThatAnotherHostTookOverAndLeavesItsNoteAlone) {
  auto lock = RunLock::take(fs, "/run", owner("a", 1000));
  ASSERT_TRUE(lock.ok());
  const std::string note = encode_lock_owner(owner("b", 1070));
  ASSERT_TRUE(fs.overwrite("/run/run.lock", 0, std::as_bytes(std::span(note))).ok());
  Status status = (*lock)->beat(1071);
  EXPECT_EQ(status.code, Code::kLocked);
  EXPECT_THAT(status.message, HasSubstr("host b"));
  lock->reset();
  EXPECT_EQ(decode_lock_owner(get_text(fs, "/run/run.lock"))->heartbeat, 1070);
}

TEST_F(RunLockTest, BeatNoticesThatTheLockWasRemoved) {
  auto lock = RunLock::take(fs, "/run", owner("a", 1000));
  ASSERT_TRUE(lock.ok());
  ASSERT_TRUE(fs.remove_file("/run/run.lock").ok());
  EXPECT_EQ((*lock)->beat(1010).code, Code::kLocked);
}

TEST_F(RunLockTest, FailingCallsAreFailuresAndNotLocks) {
  testing::FailingFs failing(fs);
  for (testing::Op op : {testing::Op::kLock, testing::Op::kLockWrite}) {
    failing.arm({.op = op, .error = EIO});
    EXPECT_EQ(RunLock::take(failing, "/run", owner("a", 1000)).status().code, Code::kFailed) << testing::op_name(op);
  }
  EXPECT_TRUE(RunLock::take(failing, "/run", owner("a", 1000)).ok()) << "a failed start keeps nothing locked";
}

TEST(RunLock, AKilledRunOnThisHostIsReplacedAtOnce) {
  testing::TempDir dir;
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    auto lock = RunLock::take(posix_fs(), dir.path(), this_process());
    if (!lock.ok() || ::write(ready[1], "x", 1) != 1) ::_exit(1);
    for (;;) ::pause();
  }
  ::close(ready[1]);
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  ::close(ready[0]);
  auto refused = RunLock::take(posix_fs(), dir.path(), this_process());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code, Code::kLocked);
  EXPECT_THAT(refused.status().message, HasSubstr("process " + std::to_string(child)));
  ASSERT_EQ(::kill(child, SIGKILL), 0);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_TRUE(RunLock::take(posix_fs(), dir.path(), this_process()).ok());
}

TEST(ThisProcess, KnowsItselfAndItsJob) {
  ::setenv("SLURM_JOB_ID", "123", 1);
  ::setenv("SLURM_RESTART_COUNT", "4", 1);
  LockOwner self = this_process();
  ::unsetenv("SLURM_JOB_ID");
  ::unsetenv("SLURM_RESTART_COUNT");
  EXPECT_EQ(self.job_id, "slurm:123");
  EXPECT_EQ(self.restart_count, 4u);
  EXPECT_EQ(self.pid, static_cast<std::uint64_t>(::getpid()));
  EXPECT_FALSE(self.host.empty());
  EXPECT_EQ(self.boot_id.size(), 36u);
  EXPECT_EQ(self.since.size(), std::string("2025-01-01T00:00:00Z").size());
  EXPECT_GT(self.heartbeat, 1.7e9);
}

}  // namespace
}  // namespace titan::ckpt
