// Tools whose lock is taken over while they work: nothing that others see changes any more.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ckpt/lock/run_lock.h"
#include "ckpt/ops/cat.h"
#include "ckpt/ops/prune.h"
#include "tests/ckpt/save/rewrite_tool.h"
#include "tests/support/fake_wait.h"
#include "tests/support/make_checkpoint.h"
#include "tests/support/unshared_fs.h"

namespace titan::ckpt::tool_locks_test {
namespace {

using testing::contents;
using testing::get_text;
using ::testing::HasSubstr;
using testing::make;
using testing::MemFs;
using testing::tree;
using testing::UnsharedFs;

// Puts the note of another host into a lock file that is held.
void take_over(MemFs& fs, const std::string& path) {
  LockOwner other = this_process();
  other.host = "other";
  other.mark = "theirs";
  const std::string note = encode_lock_owner(other);
  ASSERT_TRUE(fs.overwrite(path, 0, std::as_bytes(std::span(note))).ok()) << path;
}

TEST(ToolLocks, ARewriteThatLostALockPublishesNothing) {
  for (const char* lock :
       {"/run/run.lock", "/run/checkpoint/run.lock", "/run/checkpoint/step-00000010.tmp-rewrite/lock"}) {
    SCOPED_TRACE(lock);
    MemFs fs;
    make(fs, "/src");
    make(fs, "/run/checkpoint");
    const auto before = contents(fs, "/run/checkpoint/step-00000010");
    const auto reader = CheckpointReader::open(fs, testing::kSrc);
    ASSERT_TRUE(reader.ok());
    Manifest manifest = reader->manifest();
    manifest.writer = "late";
    {
      auto rewrite = Rewrite::begin(fs, testing::kSrc, "/run/checkpoint/step-00000010", true);
      ASSERT_TRUE(rewrite.ok()) << rewrite.status().to_string();
      for (const FileEntry& file : manifest.files) ASSERT_TRUE((*rewrite)->carry(file.path).ok());
      take_over(fs, lock);
      const Status status = (*rewrite)->publish(manifest);
      EXPECT_EQ(status.code, Code::kLocked) << status.to_string();
      EXPECT_THAT(status.message, HasSubstr("taken over by process"));
    }
    EXPECT_EQ(contents(fs, "/run/checkpoint/step-00000010"), before);
    EXPECT_THAT(get_text(fs, lock), HasSubstr("theirs")) << "its end leaves the other's note alone";
  }
}

TEST(ToolLocks, WhatLiesInATemporaryThatWasTakenOverIsTheOthers) {
  MemFs fs;
  make(fs, "/src");
  ASSERT_TRUE(fs.make_dir("/out").ok());
  {
    auto rewrite = Rewrite::begin(fs, testing::kSrc, "/out/a", false);
    ASSERT_TRUE(rewrite.ok());
    take_over(fs, "/out/a.tmp-rewrite/lock");
    ASSERT_TRUE(testing::put_text(fs, "/out/a.tmp-rewrite/new/theirs", "work").ok());
  }
  EXPECT_EQ(get_text(fs, "/out/a.tmp-rewrite/new/theirs"), "work");
}

TEST(ToolLocks, APruneThatLostALockDeletesNothing) {
  for (const char* lock : {"/run/run.lock", "/run/checkpoint/run.lock"}) {
    SCOPED_TRACE(lock);
    MemFs fs;
    for (const std::uint64_t step : {10, 20}) make(fs, "/run/checkpoint", step);
    ASSERT_TRUE(testing::put_text(fs, "/run/checkpoint/step-00000030.tmp-save/x", "of the other's save").ok());
    const auto before = contents(fs, "/run/checkpoint");
    PruneOptions options;
    options.run = "/run";
    options.rules.keep_last = 1;
    bool done = false;
    options.begin = [&](const std::string&) {
      if (!done) take_over(fs, lock);
      done = true;
    };
    const auto report = prune_run(fs, options);
    ASSERT_TRUE(done);
    EXPECT_EQ(report.status().code, Code::kLocked);
    auto after = contents(fs, "/run/checkpoint");
    after.erase("run.lock");
    EXPECT_EQ(after, before);
  }
}

TEST(ToolLocks, ACatThatLostALockLeavesTheOldFile) {
  for (const char* lock : {"/run/run.lock", "/run/x.npy.tmp-rewrite/lock"}) {
    SCOPED_TRACE(lock);
    MemFs memory;
    UnsharedFs fs(memory);
    fs.shared = true;
    ASSERT_TRUE(testing::make_checkpoint(memory, "/run/checkpoint", {}).ok());
    ASSERT_TRUE(testing::put_text(memory, "/run/run.lock", "").ok());
    ASSERT_TRUE(testing::put_text(memory, "/run/x.npy", "old").ok());
    // The last member that is read, after both locks were taken.
    const auto written = cat_tensor(fs, {"/run@10", "norm.weight", "/run/y.npy"});
    ASSERT_TRUE(written.ok()) << written.status().to_string();
    bool armed = false;
    fs.on_lock = [&](const std::string& path) { armed = armed || path.ends_with("x.npy.tmp-rewrite/lock"); };
    fs.on_create = [&](const std::string& path) {
      if (armed && path.ends_with("/new")) take_over(memory, lock);
    };
    const auto late = cat_tensor(fs, {"/run@10", "norm.weight", "/run/x.npy"});
    EXPECT_EQ(late.status().code, Code::kLocked) << late.status().to_string();
    EXPECT_EQ(get_text(memory, "/run/x.npy"), "old");
  }
}

// Two tools on hosts that do not see each other's locks, on one DST that lies in no run.
TEST(ToolLocks, TheLockOfATemporaryIsWatchedAsThatOfARun) {
  MemFs memory;
  UnsharedFs fs(memory);
  make(memory, "/src");
  ASSERT_TRUE(memory.make_dir("/out").ok());
  LockOwner other = this_process();
  other.boot_id = "another kernel";
  const std::string path = "/out/a.tmp-rewrite/lock";
  ASSERT_TRUE(testing::put_text(memory, path, encode_lock_owner(other)).ok());
  testing::FakeWait wait;
  wait.on_sleep = [&](double time) {
    other.heartbeat += time;
    const std::string note = encode_lock_owner(other);
    ASSERT_TRUE(memory.overwrite(path, 0, std::as_bytes(std::span(note))).ok());
  };
  const LockWait kept = lock_wait();
  static_cast<LockWait&>(lock_wait()) = wait;
  const Status refused = testing::copy_checkpoint(fs, testing::kSrc, "/out/a");
  wait.on_sleep = {};
  const Status taken = testing::copy_checkpoint(fs, testing::kSrc, "/out/a");
  lock_wait() = kept;
  EXPECT_EQ(refused.code, Code::kLocked);
  EXPECT_THAT(refused.to_string(), HasSubstr("another process is writing /out/a"));
  EXPECT_TRUE(taken.ok()) << taken.to_string();
  EXPECT_TRUE(testing::whole(memory, "/out/a"));
}

}  // namespace
}  // namespace titan::ckpt::tool_locks_test
