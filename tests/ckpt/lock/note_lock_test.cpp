#include "ckpt/lock/note_lock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "ckpt/lock/run_lock.h"
#include "tests/support/fake_wait.h"
#include "tests/support/files.h"
#include "tests/support/mem_fs.h"
#include "tests/support/unshared_fs.h"

namespace titan::ckpt::note_lock_test {
namespace {

using testing::FakeWait;
using testing::get_text;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::MemFs;
using testing::put_text;
using testing::UnsharedFs;

const std::string kFile = "/run/run.lock";

LockOwner owner(const std::string& host, double heartbeat = 1000, const std::string& job = "",
                std::uint32_t restarts = 0) {
  return {host, "boot-of-" + host, job, 42, restarts, "2025-01-01T00:00:00Z", heartbeat};
}

// Two hosts that do not see each other's locks, on one store.
class NoteLockTest : public ::testing::Test {
 protected:
  NoteLockTest() { EXPECT_TRUE(memory.make_dir("/run").ok()); }
  void leave(const LockOwner& holder) { ASSERT_TRUE(put_text(fs, kFile, encode_lock_owner(holder)).ok()); }
  // What a holder on another host does every few seconds.
  void rewrite(const LockOwner& holder) {
    const std::string note = encode_lock_owner(holder);
    ASSERT_TRUE(memory.overwrite(kFile, 0, std::as_bytes(std::span(note))).ok());
  }
  std::string host_in_note() { return decode_lock_owner(get_text(fs, kFile))->host; }

  MemFs memory;
  UnsharedFs fs{memory};
  FakeWait wait;
};

TEST_F(NoteLockTest, AnotherHostTakesOverWithin30SecondsOfASilentNoteAndSaysThatItWatches) {
  leave(owner("b"));
  const auto lock = RunLock::take(fs, "/run", owner("a"), wait);
  ASSERT_TRUE(lock.ok()) << lock.status().to_string();
  EXPECT_GE(wait.time, 2 * kBeatSeconds) << "a live holder writes at least twice meanwhile";
  EXPECT_LE(wait.time, 30);
  ASSERT_EQ(wait.said.size(), 1u);
  for (const char* part : {"/run/run.lock", "25 s", "process 42 on host b since 2025-01-01T00:00:00Z"})
    EXPECT_THAT(wait.said[0], HasSubstr(part));
  EXPECT_EQ(host_in_note(), "a");
}

// B8 (a), R13: clocks of hosts do not matter, be they an hour or a day apart, in either direction.
TEST_F(NoteLockTest, ANoteThatChangesIsAliveWhateverItsClockSays) {
  for (const double ahead : {-86400.0, -70.0, 0.0, 70.0, 86400.0}) {
    LockOwner holder = owner("b", 1000 + ahead);
    wait.on_sleep = [&](double) {
      holder.heartbeat += 0.5;
      rewrite(holder);
    };
    leave(holder);
    const auto lock = RunLock::take(fs, "/run", owner("a", 1000), wait);
    ASSERT_EQ(lock.status().code, Code::kLocked) << ahead;
    EXPECT_THAT(lock.status().to_string(), HasSubstr("changed while it was watched"));
    EXPECT_THAT(lock.status().hint, ::testing::Not(HasSubstr("rm "))) << "it lives";
    EXPECT_EQ(host_in_note(), "b");
    ASSERT_TRUE(fs.remove_file(kFile).ok());
  }
}

TEST_F(NoteLockTest, ANoteOfTheFutureThatNobodyRefreshesLocksNobody) {
  leave(owner("b", 1000 + 86400));
  EXPECT_TRUE(RunLock::take(fs, "/run", owner("a", 1000), wait).ok());
}

TEST_F(NoteLockTest, WhoIsWatchedAndWhoIsNot) {
  struct Case {
    const char* what;
    LockOwner holder, self;
    bool watched;
  };
  LockOwner container = owner("a"), reboot = owner("a"), nameless = owner("a"), stranger = owner("b");
  container.host = "container-1";
  reboot.boot_id = "older boot";
  nameless.boot_id = stranger.boot_id = "";
  const Case cases[] = {
      {"the same host: the advisory lock is the proof", owner("a"), owner("a"), false},
      {"the same kernel under another name", container, owner("a"), false},
      {"B8 (b): the same host name, another boot", reboot, owner("a"), true},
      {"the same host name, no boot id", nameless, owner("a"), false},
      {"another host name, no boot id", stranger, owner("a"), true},
      {"ended properly", owner("b", 0), owner("a"), false},
      {"the same job, restarted: torchrun's id is often a constant", owner("b", 1000, "torchrun:1", 0),
       owner("a", 1000, "torchrun:1", 1), true},
      {"the same job, requeued: its old node may still write", owner("b", 1000, "slurm:1", 0),
       owner("a", 1000, "slurm:1", 1), true},
  };
  for (const Case& c : cases) {
    leave(c.holder);
    FakeWait fresh;
    EXPECT_TRUE(RunLock::take(fs, "/run", c.self, fresh).ok()) << c.what;
    EXPECT_EQ(fresh.time > kSettleSeconds, c.watched) << c.what;
    EXPECT_EQ(!fresh.said.empty(), c.watched) << c.what;
    ASSERT_TRUE(fs.remove_file(kFile).ok());
  }
}

TEST_F(NoteLockTest, AHolderThatEndsWhileItIsWatchedIsFollowedAtOnce) {
  leave(owner("b"));
  wait.on_sleep = [&](double time) {
    if (time >= 3 && host_in_note() == "b") rewrite(owner("b", 0));
  };
  EXPECT_TRUE(RunLock::take(fs, "/run", owner("a"), wait).ok());
  EXPECT_LT(wait.time, 6);
}

// A file server that is gone for a minute stops the heartbeats too.
TEST_F(NoteLockTest, AStoreThatHangsWhileANoteIsWatchedDoesNotMakeItsHolderDead) {
  leave(owner("b"));
  int looks = 0;
  wait.on_sleep = [&](double) {
    if (++looks == 3) wait.time += 60;
    if (looks == 6) rewrite(owner("b", 1005));
  };
  EXPECT_EQ(RunLock::take(fs, "/run", owner("a"), wait).status().code, Code::kLocked);
}

TEST_F(NoteLockTest, ARequestToStopEndsTheWatching) {
  leave(owner("b"));
  CancelSource source;
  wait.cancel = CancelToken(source);
  wait.on_sleep = [&](double) {
    if (wait.time >= 4) (void)source.request(StopReason::kInterrupt);
  };
  EXPECT_EQ(RunLock::take(fs, "/run", owner("a"), wait).status().code, Code::kInterrupted);
  EXPECT_EQ(host_in_note(), "b");
  EXPECT_LT(wait.time, 6);
}

TEST_F(NoteLockTest, AStoreOfOneHostNeedsNoMomentToSettle) {
  fs.reach = LockReach::kKernel;
  EXPECT_TRUE(RunLock::take(fs, "/run", owner("a"), wait).ok());
  EXPECT_EQ(wait.time, 0);
  EXPECT_THAT(wait.said, IsEmpty());
}

// B15: Lustre without -o flock. Nobody sees locks there, not even on this host.
TEST_F(NoteLockTest, AStoreWithoutLocksWorksByNotesAlone) {
  fs.reach = LockReach::kNone;
  auto first = RunLock::take(fs, "/run", owner("a"), wait);
  ASSERT_TRUE(first.ok()) << first.status().to_string();
  wait.on_sleep = [&](double time) { EXPECT_TRUE((*first)->beat(1000 + time).ok()); };
  EXPECT_EQ(RunLock::take(fs, "/run", owner("a"), wait).status().code, Code::kLocked) << "the same host, too";
  EXPECT_TRUE((*first)->still_ours().ok());
  wait.on_sleep = {};
  first->reset();
  const double before = wait.time;
  EXPECT_TRUE(RunLock::take(fs, "/run", owner("a"), wait).ok());
  EXPECT_LT(wait.time - before, 2) << "it ended properly";
}

// Both find that the old holder is dead, and both write before either looks again: the note that stands decides.
TEST_F(NoteLockTest, OfTwoThatStartInTheSameMomentExactlyOneGoesOn) {
  for (const LockReach reach : {LockReach::kUnknown, LockReach::kNone}) {
    fs.reach = reach;
    leave(owner("dead"));
    FakeWait second_wait;
    Result<std::unique_ptr<NoteLock>> second = failed("not yet");
    // After the last look of the first one, and before its note.
    wait.on_now = [&](double time) {
      if (time < kSilenceSeconds || second.ok()) return;
      second = RunLock::claim(fs, "/run", owner("b"), second_wait);
      ASSERT_TRUE(second.ok()) << second.status().to_string();
    };
    auto first = RunLock::claim(fs, "/run", owner("a"), wait);
    wait.on_now = {};
    ASSERT_TRUE(first.ok()) << first.status().to_string();
    ASSERT_TRUE(second.ok());
    const Status one = NoteLock::settle({&*first, 1}), two = NoteLock::settle({&*second, 1});
    EXPECT_TRUE(one.ok()) << one.to_string();
    EXPECT_EQ(two.code, Code::kLocked);
    EXPECT_THAT(two.to_string(), HasSubstr("in the same moment"));
    first->reset();
    ASSERT_TRUE(fs.remove_file(kFile).ok());
    wait.time = 0;
  }
}

TEST_F(NoteLockTest, AHolderThatWasTakenOverLearnsItAtTheNextLook) {
  auto slept = RunLock::take(fs, "/run", owner("b"), wait);
  ASSERT_TRUE(slept.ok());
  auto taker = RunLock::take(fs, "/run", owner("a"), wait);
  ASSERT_TRUE(taker.ok()) << taker.status().to_string();
  for (const Status& status : {(*slept)->still_ours(), (*slept)->beat(2000), (*slept)->lost(), (*slept)->pulse()}) {
    EXPECT_EQ(status.code, Code::kLocked);
    EXPECT_THAT(status.message, HasSubstr("taken over by process 42 on host a"));
  }
  slept->reset();
  EXPECT_TRUE((*taker)->still_ours().ok()) << "its end leaves the other's note alone";
}

TEST_F(NoteLockTest, EveryHeartbeatChangesTheNoteAndPulseIsOneWhenItIsDue) {
  auto lock = RunLock::take(fs, "/run", owner("a"), wait);
  ASSERT_TRUE(lock.ok());
  std::string last = get_text(fs, kFile);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE((*lock)->beat(5).ok());  // a clock that stands still
    EXPECT_NE(get_text(fs, kFile), last);
    last = get_text(fs, kFile);
  }
  ASSERT_TRUE((*lock)->pulse().ok());
  EXPECT_EQ(get_text(fs, kFile), last);
  wait.time += kBeatSeconds;
  ASSERT_TRUE((*lock)->pulse().ok());
  EXPECT_NE(get_text(fs, kFile), last);
}

// A trainer asks at each step, and its peers wait for its answer.
TEST_F(NoteLockTest, AHeartbeatInAStoreThatHangsHoldsNobodyUp) {
  auto lock = RunLock::take(fs, "/run", owner("a"), wait);
  ASSERT_TRUE(lock.ok());
  std::promise<void> reads, goes_on;
  fs.on_read = [&](const std::string&) {
    reads.set_value();
    goes_on.get_future().wait();
  };
  std::thread heartbeat([&] { EXPECT_TRUE((*lock)->beat(2000).ok()); });
  reads.get_future().wait();
  auto asked = std::async(std::launch::async, [&] { return (*lock)->lost(); });
  EXPECT_EQ(asked.wait_for(std::chrono::seconds(30)), std::future_status::ready);
  fs.on_read = {};
  goes_on.set_value();
  heartbeat.join();
  EXPECT_TRUE(asked.get().ok());
}

TEST_F(NoteLockTest, NotesAreOfOneLengthSoThatNoMixtureOfTwoCanStay) {
  LockOwner longer = owner(std::string(200, 'h'), 123456789.123456, "slurm:" + std::string(30, '9'), 4'000'000'000u);
  longer.mark = "4294967295-4294967295";
  EXPECT_EQ(encode_lock_owner(owner("a")).size(), encode_lock_owner(longer).size());
  EXPECT_EQ(*decode_lock_owner(encode_lock_owner(longer)), longer);
}

// The file may be removed by its last holder between the lock and the note: such a lock protects nothing.
TEST_F(NoteLockTest, ALockOnAFileThatLostItsNameIsTakenAgain) {
  fs.shared = true;
  int locks = 0;
  fs.on_lock = [&](const std::string&) {
    if (++locks > 1) return;
    ASSERT_TRUE(fs.remove_file(kFile).ok());
    ASSERT_TRUE(put_text(fs, kFile, encode_lock_owner(owner("b", 0))).ok());
  };
  const auto lock = RunLock::take(fs, "/run", owner("a"), wait);
  ASSERT_TRUE(lock.ok()) << lock.status().to_string();
  EXPECT_EQ(locks, 2);
  EXPECT_EQ(host_in_note(), "a");
}

}  // namespace
}  // namespace titan::ckpt::note_lock_test
