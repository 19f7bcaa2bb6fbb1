#include "ckpt/io/open_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "ckpt/io/run_guard.h"
#include "tests/support/files.h"
#include "tests/support/mem_fs.h"

namespace titan::ckpt {
namespace {

using testing::MemFs;
using testing::put_text;
using testing::tree;
using ::testing::ElementsAre;

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
    EXPECT_TRUE(fs.stat("/run/checkpoint/step-00000001.tmp-0123456789ab/model/x").ok()) << "another process works there";
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
  const std::string spellings[] = {store, store + "/", dir / "store/../store/big", dir / "store/./big", run + "/checkpoint",
                                   run + "/checkpoint/../big", dir / "elsewhere/linked/big", dir / "elsewhere/../elsewhere/linked/big"};
  {
    const auto live = open_run(fs, run, run + "/checkpoint");
    ASSERT_TRUE(live.ok()) << live.status().to_string();
    for (const std::string& path : spellings) EXPECT_EQ(RunGuard::take(fs, path, true).status().code, Code::kLocked) << path;
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
  EXPECT_EQ(open_run(fs, other, other + "/checkpoint").status().code, Code::kLocked) << "two runs with one folder of steps";
}

}  // namespace
}  // namespace titan::ckpt
