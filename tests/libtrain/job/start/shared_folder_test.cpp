#include "libtrain/job/start/shared_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ckpt/base/files.h"
#include "ckpt/lock/run_lock.h"
#include "tests/support/fake_wait.h"
#include "tests/support/mem_fs.h"

namespace titan::train::shared_folder_test {
namespace {

using ckpt::testing::FakeWait;
using ckpt::testing::MemFs;
using testing::ElementsAre;
using testing::HasSubstr;

FolderView blind(int rank, const std::string& path) { return {rank, false, path, "nobody has taken a lock there"}; }
FolderView seeing(int rank) { return {rank, true, "run/checkpoint", ""}; }

TEST(ViewFolder, KnowsTheLockOfRankZeroByItsMark) {
  MemFs fs;
  FakeWait wait;
  ASSERT_TRUE(ckpt::make_dirs(fs, "run/checkpoint").ok());
  auto lock = ckpt::RunLock::take(fs, "run/checkpoint", ckpt::this_process(), wait);
  ASSERT_TRUE(lock.ok()) << lock.status().to_string();
  EXPECT_TRUE(view_folder(fs, 1, "run/checkpoint", (*lock)->mark(), wait).same);
  EXPECT_LT(wait.time, 2) << "at once";
  const FolderView other = view_folder(fs, 1, "run/checkpoint", "another mark", wait);
  EXPECT_FALSE(other.same);
  EXPECT_THAT(other.found, HasSubstr("the lock there was taken by process "));
}

TEST(ViewFolder, LooksAgainForAStoreThatShowsNewFilesLate) {
  MemFs fs;
  FakeWait wait;
  ASSERT_TRUE(ckpt::make_dirs(fs, "run/checkpoint").ok());
  const std::string mark = "1-2";
  wait.on_sleep = [&](double time) {
    if (time < kFolderPatienceSeconds / 2 || fs.stat("run/checkpoint/run.lock").ok()) return;
    ckpt::LockOwner owner = ckpt::this_process();
    owner.mark = mark;
    const std::string note = ckpt::encode_lock_owner(owner);
    ASSERT_TRUE(ckpt::write_new_file(fs, "run/checkpoint/run.lock", std::as_bytes(std::span(note))).ok());
  };
  EXPECT_TRUE(view_folder(fs, 1, "run/checkpoint", mark, wait).same);
}

TEST(ViewFolder, SaysWhatIsThereInstead) {
  MemFs fs;
  FakeWait wait;
  EXPECT_EQ(view_folder(fs, 3, "run/checkpoint", "m", wait).found, "there is no such folder");
  EXPECT_GE(wait.time, kFolderPatienceSeconds);
  ASSERT_TRUE(ckpt::make_dirs(fs, "run/checkpoint").ok());
  EXPECT_EQ(view_folder(fs, 3, "run/checkpoint", "m", wait).found, "nobody has taken a lock there");
}

TEST(JudgeFolders, IsContentWhereAllSeeTheSame) {
  EXPECT_TRUE(judge_folders("run/checkpoint", {seeing(0), seeing(1)}).ok());
}

TEST(JudgeFolders, NamesTheRanksThatDoNotSeeTheFolder) {
  const ckpt::Status status =
      judge_folders("run/checkpoint", {seeing(0), seeing(1), blind(2, "run/checkpoint"), blind(3, "run/checkpoint")});
  EXPECT_EQ(status.code, ckpt::Code::kFailed);
  EXPECT_EQ(status.message,
            "ranks 2, 3 do not see the folder that rank 0 sees: run/checkpoint is another folder on their hosts");
  EXPECT_THAT(status.causes, ElementsAre("rank 2: run/checkpoint: nobody has taken a lock there",
                                         "rank 3: run/checkpoint: nobody has taken a lock there"));
  EXPECT_THAT(status.hint, HasSubstr("a store that all hosts share"));
}

TEST(JudgeFolders, NamesBothPathsWhereTheyDiffer) {
  const ckpt::Status status =
      judge_folders("run/checkpoint", {seeing(0), blind(1, "other/checkpoint"), blind(2, "run/checkpoint")});
  EXPECT_EQ(status.code, ckpt::Code::kIncompatible);
  EXPECT_EQ(status.message,
            "rank 1 has another run folder than rank 0: other/checkpoint there, run/checkpoint on rank 0");
  EXPECT_THAT(status.hint, HasSubstr("job.dump_folder"));
}

TEST(JudgeFolders, StaysShortForManyRanks) {
  std::vector<FolderView> views{seeing(0)};
  for (int rank = 1; rank <= 100; ++rank) views.push_back(blind(rank, "run/checkpoint"));
  const ckpt::Status status = judge_folders("run/checkpoint", views);
  EXPECT_THAT(status.message, HasSubstr("ranks 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 and 88 more do not see"));
  EXPECT_EQ(status.causes.size(), 4u);
}

}  // namespace
}  // namespace titan::train::shared_folder_test
