#include "ckpt/lock/run_guard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "ckpt/base/files.h"
#include "ckpt/base/fs_posix.h"
#include "tests/support/files.h"
#include "tests/support/mem_fs.h"

namespace titan::ckpt::run_guard_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::MemFs;
using testing::put_text;

const std::string kNote = encode_lock_owner(this_process());

TEST(RunsAround, AFolderOfStepsIsARunsEvenWhereNoLockWasTaken) {
  MemFs fs;
  ASSERT_TRUE(make_dirs(fs, "/a/checkpoint").ok());
  ASSERT_TRUE(make_dirs(fs, "/b/saves").ok());
  EXPECT_THAT(runs_around(fs, "/a/checkpoint", true), ElementsAre("/a", "/a/checkpoint"));
  EXPECT_THAT(runs_around(fs, "/a/checkpoint//", true), ElementsAre("/a", "/a/checkpoint"));
  EXPECT_THAT(runs_around(fs, "/b/saves", true), ElementsAre("/b/saves"));
  EXPECT_THAT(runs_around(fs, "checkpoint", true), ElementsAre(".", "checkpoint"));
  EXPECT_THAT(runs_around(fs, "/a/checkpoint", false), IsEmpty());
}

TEST(RunsAround, TheNearestLockUpwardsCounts) {
  MemFs fs;
  ASSERT_TRUE(make_dirs(fs, "/b/deep/down/saves").ok());
  ASSERT_TRUE(put_text(fs, "/b/run.lock", kNote).ok());
  for (const bool steps : {false, true}) EXPECT_EQ(runs_around(fs, "/b/deep/down/saves", steps).front(), "/b");
  ASSERT_TRUE(put_text(fs, "/b/deep/run.lock", "").ok());
  EXPECT_THAT(runs_around(fs, "/b/deep/down/saves", true), ElementsAre("/b/deep", "/b/deep/down/saves"));
  EXPECT_THAT(runs_around(fs, "/b/deep", false), ElementsAre("/b/deep"));
}

// A run may start in /b/exp while a tool works there, whatever once ran in /b; and /b may be the run.
TEST(RunsAround, AFolderCalledCheckpointIsItsParentsBesides) {
  MemFs fs;
  ASSERT_TRUE(make_dirs(fs, "/b/exp/checkpoint").ok());
  ASSERT_TRUE(put_text(fs, "/b/run.lock", kNote).ok());
  EXPECT_THAT(runs_around(fs, "/b/exp/checkpoint", true), ElementsAre("/b", "/b/exp", "/b/exp/checkpoint"));
  ASSERT_TRUE(put_text(fs, "/b/exp/run.lock", kNote).ok());
  EXPECT_THAT(runs_around(fs, "/b/exp/checkpoint", true), ElementsAre("/b/exp", "/b/exp/checkpoint"));
}

// Whoever writes into a folder of steps that a run left its lock in, be it a file beside the steps, is in that run.
TEST(RunsAround, TheLockOfAFolderOfStepsDoesNotHideThatOfItsRun) {
  MemFs fs;
  ASSERT_TRUE(make_dirs(fs, "/r/checkpoint").ok());
  ASSERT_TRUE(make_dirs(fs, "/s/saves").ok());
  ASSERT_TRUE(put_text(fs, "/r/checkpoint/run.lock", kNote).ok());
  EXPECT_THAT(runs_around(fs, "/r/checkpoint", false), ElementsAre("/r/checkpoint"));
  for (const char* path : {"/r/run.lock", "/s/run.lock", "/s/saves/run.lock"})
    ASSERT_TRUE(put_text(fs, path, kNote).ok());
  EXPECT_THAT(runs_around(fs, "/r/checkpoint", false), ElementsAre("/r", "/r/checkpoint"));
  EXPECT_THAT(runs_around(fs, "/s/saves", true), ElementsAre("/s", "/s/saves"));
}

TEST(RunsAround, AFileOfAnotherProgramIsNoLock) {
  MemFs fs;
  ASSERT_TRUE(make_dirs(fs, "/p/a/b").ok());
  ASSERT_TRUE(put_text(fs, "/p/run.lock", "mine").ok());
  ASSERT_TRUE(make_dirs(fs, "/p/a/run.lock").ok());
  EXPECT_THAT(runs_around(fs, "/p/a/b", false), IsEmpty());
  ASSERT_TRUE(fs.remove_file("/p/run.lock").ok());
  ASSERT_TRUE(put_text(fs, "/p/run.lock", kNote.substr(0, 3)).ok());  // cut short while it was written
  EXPECT_THAT(runs_around(fs, "/p/a/b", false), ElementsAre("/p"));
}

TEST(RunsAround, LinksAreFollowedBothWays) {
  testing::TempDir dir;
  Fs& fs = posix_fs();
  const std::string run = dir / "run", store = dir / "store";
  ASSERT_TRUE(make_dirs(fs, run).ok());
  ASSERT_TRUE(make_dirs(fs, store + "/saves").ok());
  std::filesystem::create_directory_symlink(store + "/saves", run + "/checkpoint");
  const std::string real = *fs.real_path(store + "/saves");
  EXPECT_THAT(runs_around(fs, run + "/checkpoint", true), ElementsAre(run, real)) << "no lock was ever taken";
  ASSERT_TRUE(put_text(fs, run + "/run.lock", kNote).ok());
  EXPECT_THAT(runs_around(fs, run + "/checkpoint", true), ElementsAre(run, real));
  std::filesystem::create_directory_symlink(store, run + "/kept");
  EXPECT_THAT(runs_around(fs, run + "/kept/saves", true), ElementsAre(run, real)) << "the path as typed comes first";
  std::filesystem::create_directory_symlink(run, dir / "alias");
  EXPECT_THAT(runs_around(fs, dir / "alias/checkpoint", true), ElementsAre(dir / "alias", real));
  ASSERT_TRUE(make_dirs(fs, run + "/exports").ok());
  std::filesystem::create_directory_symlink(run + "/exports", dir / "exports");
  EXPECT_THAT(runs_around(fs, dir / "exports", false), ElementsAre(*fs.real_path(run)));
}

TEST(RunGuard, HoldsEveryLock) {
  for (const char* run : {"/b", "/b/exp", "/b/exp/checkpoint"}) {
    MemFs fs;
    ASSERT_TRUE(make_dirs(fs, "/b/exp/checkpoint").ok());
    ASSERT_TRUE(put_text(fs, "/b/run.lock", kNote).ok());
    {
      auto guard = RunGuard::take(fs, "/b/exp/checkpoint", true);
      ASSERT_TRUE(guard.ok());
      EXPECT_TRUE(guard->pulse().ok());
      EXPECT_TRUE(guard->beat(this_process().heartbeat).ok());
      EXPECT_EQ(RunLock::take(fs, run, this_process()).status().code, Code::kLocked) << run;
    }
    ASSERT_TRUE(fs.remove_file("/b/exp/run.lock").ok());
    ASSERT_TRUE(fs.remove_file("/b/exp/checkpoint/run.lock").ok());
    const auto held = RunLock::take(fs, run, this_process());
    ASSERT_TRUE(held.ok());
    EXPECT_EQ(RunGuard::take(fs, "/b/exp/checkpoint", true).status().code, Code::kLocked) << run;
  }
}

}  // namespace
}  // namespace titan::ckpt::run_guard_test
