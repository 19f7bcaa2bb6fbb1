#include "ckpt/lock/run_lock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

#include "ckpt/base/fs_posix.h"
#include "tests/support/child.h"
#include "tests/support/failing_fs.h"
#include "tests/support/fake_wait.h"
#include "tests/support/files.h"
#include "tests/support/mem_fs.h"

namespace titan::ckpt::run_lock_test {
namespace {

using testing::get_text;
using ::testing::HasSubstr;
using testing::MemFs;
using testing::put_text;

LockOwner owner(const std::string& host, double heartbeat, const std::string& job = "", std::uint32_t restarts = 0) {
  return {host, "boot-of-" + host, job, 42, restarts, "2025-01-01T00:00:00Z", heartbeat};
}

TEST(LockOwner, TextFormHasEveryFieldAndParsesBack) {
  LockOwner self = owner("node \"7\"", 1735689600.25, "slurm:99", 3);
  const std::string text = encode_lock_owner(self);
  for (const char* key :
       {"\"host\"", "\"boot_id\"", "\"pid\"", "\"since\"", "\"job_id\"", "\"restart_count\"", "\"heartbeat\""})
    EXPECT_THAT(text, HasSubstr(key));
  EXPECT_EQ(*decode_lock_owner(text), self);
  EXPECT_EQ(*decode_lock_owner(text + "00}\n"), self) << "the tail of a longer old note";
}

TEST(LockOwner, UnreadableNotesAreCorrupt) {
  const std::string good = encode_lock_owner(owner("a", 1));
  for (const std::string& text : {std::string(), std::string("{"), std::string("[]"), std::string("{}"),
                                  good.substr(0, 30), std::string("{\"host\":1}"), std::string(16'000, '['),
                                  std::string(10, '\0'), "[[0." + std::string(760, '0') + "1"})
    EXPECT_EQ(decode_lock_owner(text).status().code, Code::kCorrupt) << text.substr(0, 40);
}

TEST(LockOwner, ANoteOfAnOlderVersionHasNoMark) {
  const std::string old =
      "{\"host\":\"a\",\"boot_id\":\"b\",\"pid\":7,\"since\":\"s\",\"job_id\":\"\",\"restart_count\":0,\"heartbeat\":1."
      "5}\n";
  const auto note = decode_lock_owner(old);
  ASSERT_TRUE(note.ok()) << note.status().to_string();
  EXPECT_EQ(note->mark, "");
  EXPECT_EQ(note->heartbeat, 1.5);
}

class RunLockTest : public ::testing::Test {
 protected:
  RunLockTest() { EXPECT_TRUE(fs.make_dir("/run").ok()); }
  Result<std::unique_ptr<NoteLock>> take(const LockOwner& self) { return RunLock::take(fs, "/run", self, wait); }

  MemFs fs;
  testing::FakeWait wait;
};

TEST_F(RunLockTest, ASecondRunOnTheSameHostIsToldWhoHoldsItSinceWhen) {
  auto first = take(owner("a", 1000, "slurm:7", 2));
  ASSERT_TRUE(first.ok()) << first.status().to_string();
  LockOwner late = owner("a", 9000, "slurm:7", 3);  // neither age nor restarts count here
  auto second = take(late);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.status().code, Code::kLocked);
  for (const char* part : {"/run", "process 42", "host a", "since 2025-01-01T00:00:00Z", "job slurm:7", "8000 s old"})
    EXPECT_THAT(second.status().to_string(), HasSubstr(part));
}

TEST_F(RunLockTest, EndingARunFreesItForEveryHostAtOnce) {
  take(owner("a", 1000)).value().reset();
  EXPECT_EQ(decode_lock_owner(get_text(fs, "/run/run.lock"))->heartbeat, 0);
  EXPECT_TRUE(take(owner("b", 1001)).ok());
}

// The server of a store may keep the lock of a host that is dead.
TEST_F(RunLockTest, ARefusalForAnotherHostSaysWhatToDoIfThatIsDeadWhateverItsClockSaid) {
  struct Case {
    double heartbeat;
    const char *age, *hint;
  };
  for (const Case& c :
       {Case{1000, "8000 s old", "rm /run/run.lock"}, Case{9000 + 86399, "86399 s in the future", "rm /run/run.lock"},
        Case{8990, "10 s old", "stop that run first"}}) {
    const auto held = take(owner("b", c.heartbeat));
    ASSERT_TRUE(held.ok());
    const auto refused = take(owner("a", 9000));
    EXPECT_EQ(refused.status().code, Code::kLocked);
    EXPECT_THAT(refused.status().to_string(), HasSubstr(c.age));
    EXPECT_THAT(refused.status().hint, HasSubstr(c.hint));
  }
}

TEST_F(RunLockTest, AnotherHostsNoteIsWatchedAlsoWhereTheLockWasGranted) {
  ASSERT_TRUE(put_text(fs, "/run/run.lock", encode_lock_owner(owner("b", 1000))).ok());
  EXPECT_TRUE(take(owner("a", 1030)).ok());
  EXPECT_GE(wait.time, kSilenceSeconds);
}

TEST_F(RunLockTest, AnUnreadableNoteOfADeadRunDoesNotLockForEver) {
  ASSERT_TRUE(put_text(fs, "/run/run.lock", "{\"host\":\"b").ok());
  EXPECT_TRUE(take(owner("a", 1000)).ok());
}

TEST_F(RunLockTest, BeatRefreshesTheNote) {
  auto lock = take(owner("a", 1000));
  ASSERT_TRUE(lock.ok());
  ASSERT_TRUE((*lock)->beat(1010.5).ok());
  LockOwner note = *decode_lock_owner(get_text(fs, "/run/run.lock"));
  note.mark = "";
  EXPECT_EQ(note, owner("a", 1010.5));
}

TEST_F(RunLockTest, BeatNoticesThatAnotherHostTookOverAndLeavesItsNoteAlone) {
  auto lock = take(owner("a", 1000));
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
  auto lock = take(owner("a", 1000));
  ASSERT_TRUE(lock.ok());
  ASSERT_TRUE(fs.remove_file("/run/run.lock").ok());
  EXPECT_EQ((*lock)->beat(1010).code, Code::kLocked);
}

TEST_F(RunLockTest, FailingCallsAreFailuresAndNotLocks) {
  testing::FailingFs failing(fs);
  for (testing::Op op : {testing::Op::kLock, testing::Op::kLockWrite}) {
    failing.arm({.op = op, .error = EIO});
    EXPECT_EQ(RunLock::take(failing, "/run", owner("a", 1000), wait).status().code, Code::kFailed)
        << testing::op_name(op);
  }
  EXPECT_TRUE(RunLock::take(failing, "/run", owner("a", 1000), wait).ok()) << "a failed start keeps nothing locked";
}

TEST(RunLock, AKilledRunOnThisHostIsReplacedAtOnce) {
  testing::TempDir dir;
  testing::Child child([&dir] {
    auto lock = RunLock::take(posix_fs(), dir.path(), this_process());
    return lock.ok() ? std::move(lock).value() : nullptr;
  });
  ASSERT_TRUE(child.ready());
  auto refused = RunLock::take(posix_fs(), dir.path(), this_process());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code, Code::kLocked);
  EXPECT_THAT(refused.status().message, HasSubstr("process " + std::to_string(child.pid())));
  child.kill();
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
}  // namespace titan::ckpt::run_lock_test
