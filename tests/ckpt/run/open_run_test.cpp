#include "ckpt/run/open_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "ckpt/base/files.h"
#include "ckpt/base/fs_posix.h"
#include "ckpt/lock/run_guard.h"
#include "tests/support/files.h"
#include "tests/support/mem_fs.h"

namespace titan::ckpt::open_run_test {
namespace {

using ::testing::ElementsAre;
using testing::MemFs;
using testing::put_text;
using testing::tree;

TEST(OpenRun, MakesTheFoldersAndHoldsBothLocks) {
  MemFs fs;
  {
    const auto run = open_run(fs, "/runs/a", "/runs/a/checkpoint");
    ASSERT_TRUE(run.ok()) << run.status().to_string();
    EXPECT_THAT(run->warnings, ElementsAre());
    EXPECT_THAT(tree(fs, "/runs"), ElementsAre("a/", "a/checkpoint/", "a/checkpoint/run.lock", "a/run.lock"));
    EXPECT_EQ(open_run(fs, "/runs/a", "/runs/a/checkpoint").status().code, Code::kLocked);
    EXPECT_TRUE(run->locks.still_ours().ok());
  }
  EXPECT_TRUE(open_run(fs, "/runs/a", "/runs/a/checkpoint").ok());
}

TEST(OpenRun, ALookSeesTheHolderAndTouchesNothing) {
  MemFs fs;
  EXPECT_TRUE(look_at_run(fs, "/runs/a", "/runs/a/checkpoint").ok());
  EXPECT_FALSE(fs.stat("/runs").ok()) << "nothing is made";
  const auto run = open_run(fs, "/runs/a", "/runs/a/checkpoint");
  ASSERT_TRUE(run.ok());
  const Status seen = look_at_run(fs, "/runs/a", "/runs/a/checkpoint");
  EXPECT_EQ(seen.code, Code::kLocked);
  EXPECT_THAT(seen.message, ::testing::StartsWith("/runs/a is locked by a live run or tool: process "));
  EXPECT_TRUE(run->locks.still_ours().ok());
  // A tool that holds the folder of steps alone.
  MemFs other;
  ASSERT_TRUE(make_dirs(other, "/r/checkpoint").ok());
  const auto guard = RunGuard::take_run(other, "/r/checkpoint", "/r/checkpoint");
  ASSERT_TRUE(guard.ok());
  EXPECT_EQ(look_at_run(other, "/r", "/r/checkpoint").code, Code::kLocked);
}

TEST(OpenRun, ALookPassesOverTheNoteOfADeadHolder) {
  MemFs fs;
  ASSERT_TRUE(make_dirs(fs, "/r").ok());
  LockOwner dead = this_process();
  const double now = dead.heartbeat;
  const auto look = [&](const LockOwner& holder) {
    if (fs.stat("/r/run.lock").ok()) {
      EXPECT_TRUE(fs.remove_file("/r/run.lock").ok());
    }
    EXPECT_TRUE(put_text(fs, "/r/run.lock", encode_lock_owner(holder)).ok());
    return look_at_run(fs, "/r", "/r/checkpoint").code;
  };
  EXPECT_EQ(look(dead), Code::kLocked) << "this very process";
  dead.heartbeat = 0;
  EXPECT_EQ(look(dead), Code::kOk) << "it said that it ended";
  dead.heartbeat = now;
  dead.pid = 0x7FFFFFFE;  // no process has such a number
  EXPECT_EQ(look(dead), Code::kOk);
  dead.pid = this_process().pid;
  dead.heartbeat = now - 40 * 365 * 86400.0;
  EXPECT_EQ(look(dead), Code::kOk) << "a process that got the number of the dead one";
  LockOwner elsewhere = dead;
  elsewhere.host = "another";
  elsewhere.boot_id = "another kernel";
  elsewhere.heartbeat = now;
  EXPECT_EQ(look(elsewhere), Code::kLocked);
  elsewhere.heartbeat = now - kSilenceSeconds - 1;
  EXPECT_EQ(look(elsewhere), Code::kOk);
}

TEST(OpenRun, ALookNamesWhatCannotBeMade) {
  testing::TempDir dir;
  Fs& fs = posix_fs();
  ASSERT_TRUE(put_text(fs, dir / "file", "").ok());
  const Status file = look_at_run(fs, dir / "file", dir / "file/checkpoint");
  EXPECT_EQ(file.code, Code::kInvalid) << "what was typed, not the store";
  EXPECT_EQ(file.message, "the run folder " + (dir / "file") + " cannot be used");
  EXPECT_THAT(file.causes, ElementsAre((dir / "file") + " is a file: expected a folder"));
  EXPECT_THAT(file.hint, ::testing::HasSubstr("job.dump_folder"));
  EXPECT_EQ(look_at_run(fs, dir / "file/run", dir / "file/run/checkpoint").message,
            "the run folder " + (dir / "file/run") + " cannot be made");
  EXPECT_TRUE(look_at_run(fs, dir / "new/run", dir / "new/run/checkpoint").ok());
}

TEST(OpenRun, AFolderThatHoldsItsStepsItselfHasOneLock) {
  MemFs fs;
  EXPECT_TRUE(open_run(fs, "/run", "/run/.").ok());
  EXPECT_THAT(tree(fs, "/run"), ElementsAre("run.lock"));
}

TEST(OpenRun, RemovesWhatADeadRunLeftOnceTheLocksAreHeld) {
  MemFs fs;
  ASSERT_TRUE(put_text(fs, "/run/checkpoint/step-00000001.tmp-0123456789ab/model/x", "x").ok());
  {
    const auto other = RunLock::take(fs, "/run/checkpoint", this_process());
    EXPECT_EQ(open_run(fs, "/run", "/run/checkpoint").status().code, Code::kLocked);
    EXPECT_TRUE(fs.stat("/run/checkpoint/step-00000001.tmp-0123456789ab/model/x").ok())
        << "another process works there";
  }
  EXPECT_TRUE(open_run(fs, "/run", "/run/checkpoint").ok());
  EXPECT_FALSE(fs.stat("/run/checkpoint/step-00000001.tmp-0123456789ab").ok());
}

// B4 of the review: a tool that was given the real path deleted the temporary of a save in progress.
TEST(OpenRun, ARunWhoseFolderOfStepsIsALinkExcludesToolsByEveryPath) {
  testing::TempDir dir;
  Fs& fs = posix_fs();
  const std::string run = dir / "run", store = dir / "store/big";
  ASSERT_TRUE(make_dirs(fs, run).ok());
  ASSERT_TRUE(make_dirs(fs, store).ok());
  ASSERT_TRUE(make_dirs(fs, dir / "elsewhere").ok());
  std::filesystem::create_directory_symlink("../store/big", run + "/checkpoint");
  std::filesystem::create_directory_symlink(dir / "store", dir / "elsewhere/linked");
  const std::string spellings[] = {store,
                                   store + "/",
                                   dir / "store/../store/big",
                                   dir / "store/./big",
                                   run + "/checkpoint",
                                   run + "/checkpoint/../big",
                                   dir / "elsewhere/linked/big",
                                   dir / "elsewhere/../elsewhere/linked/big"};
  {
    const auto live = open_run(fs, run, run + "/checkpoint");
    ASSERT_TRUE(live.ok()) << live.status().to_string();
    for (const std::string& path : spellings)
      EXPECT_EQ(RunGuard::take(fs, path, true).status().code, Code::kLocked) << path;
  }
  for (const std::string& path : spellings) {
    const auto tool = RunGuard::take(fs, path, true);
    ASSERT_TRUE(tool.ok()) << path << tool.status().to_string();
    EXPECT_EQ(open_run(fs, run, run + "/checkpoint").status().code, Code::kLocked) << path;
  }
  const std::string other = dir / "other";
  ASSERT_TRUE(make_dirs(fs, other).ok());
  std::filesystem::create_directory_symlink(store, other + "/checkpoint");
  const auto live = open_run(fs, run, run + "/checkpoint");
  ASSERT_TRUE(live.ok());
  EXPECT_EQ(open_run(fs, other, other + "/checkpoint").status().code, Code::kLocked)
      << "two runs with one folder of steps";
}

}  // namespace
}  // namespace titan::ckpt::open_run_test
