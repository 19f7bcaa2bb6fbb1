#include "ckpt/run/recover.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>

#include "ckpt/base/files.h"
#include "ckpt/lock/lock_wait.h"
#include "tests/support/checkpoints.h"
#include "tests/support/failing_fs.h"
#include "tests/support/files.h"
#include "tests/support/meddling_fs.h"
#include "tests/support/mem_fs.h"

namespace titan::ckpt::recover_test {
namespace {

using ::testing::AllOf;
using testing::Call;
using ::testing::Contains;
using ::testing::ElementsAre;
using testing::FailingFs;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::MemFs;
using testing::Op;
using testing::put_text;
using testing::tree;

class Recover : public ::testing::Test {
 protected:
  Recover() { EXPECT_TRUE(make_dirs(fs, dir).ok()); }
  void put(const std::string& name, const std::string& text = "") {
    ASSERT_TRUE(put_text(fs, dir + "/" + name, text).ok());
  }
  /// recover_folder, asked to stop at the call of that name and path. Counts files that are opened afterwards.
  std::vector<std::string> recover_until(std::string_view call, const std::string& path) {
    CancelSource source;
    opened_after_ = 0;
    testing::MeddlingFs meddling(fs);
    meddling.before_calls([&](const char* name, const std::string& at) {
      opened_after_ += !CancelToken(source).check().ok() && std::string_view(name) == "open";
      if (name == call && at == path) (void)source.request(StopReason::kTerminate);
    });
    lock_wait().cancel = CancelToken(source);
    const std::vector<std::string> problems = recover_folder(meddling, dir);
    lock_wait().cancel = {};
    return problems;
  }

  MemFs fs;
  std::string dir = "/run/checkpoint";
  std::atomic<int> opened_after_ = 0;
};

TEST_F(Recover, RemovesLeftoversAndNothingElse) {
  put("step-00000001/manifest.json");
  put("step-00000002.tmp-00000000000a/model/shard");
  put(".trash-step-00000000-y/dataloader.json");
  put("notes.tmp-1/f");
  put("step-00000001.tmp-mine/manifest.json", "a copy that a user made");
  put("step-00000003.tmp-file");
  EXPECT_THAT(recover_folder(fs, dir), IsEmpty());
  EXPECT_THAT(tree(fs, dir),
              ElementsAre("notes.tmp-1/", "notes.tmp-1/f", "step-00000001/", "step-00000001/manifest.json",
                          "step-00000001.tmp-mine/", "step-00000001.tmp-mine/manifest.json", "step-00000003.tmp-file"));
  EXPECT_THAT(recover_folder(fs, "/nowhere"), IsEmpty());
}

TEST_F(Recover, EndsBetweenTwoFilesWhenItIsAskedTo) {
  for (const char* name : {"dataloader.json", "lr_scheduler.json", "train_state.json"})
    put(std::string(".trash-step-00000001-x/") + name);
  EXPECT_THAT(recover_until("unlink", dir + "/.trash-step-00000001-x/lr_scheduler.json"),
              ElementsAre(HasSubstr("stopped")));
  EXPECT_THAT(tree(fs, dir), ElementsAre(".trash-step-00000001-x/", ".trash-step-00000001-x/train_state.json"));
  EXPECT_THAT(recover_folder(fs, dir), IsEmpty());
  EXPECT_THAT(tree(fs, dir), IsEmpty());
}

// What a dead tool left beside a whole step is read, and the step with it: they may be large.
TEST_F(Recover, EndsWithinTheProofOfAStepWhenItIsAskedTo) {
  const std::string step = dir + "/step-00000020";
  ASSERT_TRUE(testing::save(fs, dir, testing::make_snapshot({{"a", {300}}}, {1, 1, 1}, 100, 20)).ok());
  ASSERT_TRUE(testing::copy_tree(fs, step, fs, step + ".tmp-rewrite/old"));
  const std::vector<std::string> before = tree(fs, dir);
  const auto is_stopped = ElementsAre(AllOf(HasSubstr("tmp-rewrite"), HasSubstr("stopped")));
  EXPECT_THAT(recover_until("open", step + "/manifest.json"), is_stopped);
  EXPECT_EQ(opened_after_, 0) << "the rest of the step is not read";
  EXPECT_THAT(recover_until("open", step + "/model/shard-00000.h5"), is_stopped);  // other threads may open members
  EXPECT_EQ(tree(fs, dir), before);
  EXPECT_THAT(recover_until("unlink", step + ".tmp-rewrite/old/manifest.json"), ElementsAre(HasSubstr("stopped")));
  EXPECT_THAT(tree(fs, dir), Contains("step-00000020.tmp-rewrite/old/model/"));
  EXPECT_THAT(recover_folder(fs, dir), IsEmpty());
}

TEST_F(Recover, RemovesTheFileThatWasToBecomeLatest) {
  put("latest", "step-00000001");
  put("latest.tmp", "step-000");
  EXPECT_THAT(recover_folder(fs, dir), IsEmpty());
  EXPECT_THAT(tree(fs, dir), ElementsAre("latest"));
}

TEST_F(Recover, ReportsEachFailureAndGoesOn) {
  put("step-00000002.tmp-00000000000a/f");
  put("step-00000003.tmp-00000000000b/f");
  FailingFs failing(fs);
  failing.arm({.op = Op::kRemoveFile, .error = EACCES});
  EXPECT_THAT(recover_folder(failing, dir),
              ElementsAre(AllOf(HasSubstr("step-00000002.tmp-00000000000a"), HasSubstr("Permission denied"))));
  EXPECT_THAT(tree(fs, dir), ElementsAre("step-00000002.tmp-00000000000a/", "step-00000002.tmp-00000000000a/f"));
}

// A tool that cannot exchange two names was killed between its two renames: the only copy of step 20 lies in `old`.
TEST_F(Recover, PutsBackWhatADeadToolMovedAside) {
  put("step-00000020.tmp-rewrite/lock", "a dead tool");
  put("step-00000020.tmp-rewrite/old/manifest.json", "the old one");
  put("step-00000020.tmp-rewrite/new/manifest.json", "the new one");
  FailingFs log(fs);
  std::vector<std::string> restored;
  EXPECT_THAT(recover_folder(log, dir, &restored), IsEmpty());
  EXPECT_THAT(restored, ElementsAre(dir + "/step-00000020"));
  EXPECT_THAT(tree(fs, dir), ElementsAre("step-00000020/", "step-00000020/manifest.json"));
  EXPECT_EQ(testing::get_text(fs, dir + "/step-00000020/manifest.json"), "the old one");
  // Durable before anything is removed.
  const std::vector<Call> calls = log.calls();
  const auto back =
      std::find_if(calls.begin(), calls.end(), [](const Call& call) { return call.op == Op::kRenameNoReplace; });
  const auto sync = std::find(back, calls.end(), Call{Op::kSyncDir, dir});
  const auto removal = std::find_if(calls.begin(), calls.end(), [](const Call& call) {
    return call.op == Op::kRemoveFile || call.op == Op::kRemoveDir;
  });
  ASSERT_NE(sync, calls.end());
  EXPECT_LT(sync, removal);
}

TEST_F(Recover, LeavesWhatCannotBePutBack) {
  put("step-00000020.tmp-rewrite/lock", "a dead tool");
  put("step-00000020.tmp-rewrite/old/manifest.json");
  put("step-00000020.tmp-rewrite/new/manifest.json");
  const std::vector<std::string> before = tree(fs, dir);
  for (const Op op : {Op::kRenameNoReplace, Op::kLock, Op::kStat}) {
    FailingFs failing(fs);
    failing.arm({.op = op, .repeat = testing::Repeat::kSticky, .error = EIO});
    EXPECT_THAT(recover_folder(failing, dir), ElementsAre(HasSubstr("step-00000020.tmp-rewrite")))
        << testing::op_name(op);
    EXPECT_EQ(tree(fs, dir), before) << testing::op_name(op);
  }
}

TEST_F(Recover, KeepsTheAsideUntilItsReturnIsDurable) {
  put("step-00000020.tmp-rewrite/old/manifest.json");
  FailingFs failing(fs);
  failing.arm({.op = Op::kSyncDir, .error = EIO});
  EXPECT_THAT(recover_folder(failing, dir), ElementsAre(HasSubstr("sync_dir")));
  EXPECT_THAT(tree(fs, dir), Contains("step-00000020/manifest.json"));
}

TEST_F(Recover, RemovesTheOldOneWhereTheNewOneWasPublished) {
  put("step-00000020/manifest.json", "the new one");
  put("step-00000020.tmp-rewrite/old/manifest.json", "the old one");
  std::vector<std::string> restored;
  EXPECT_THAT(recover_folder(fs, dir, &restored), IsEmpty());
  EXPECT_THAT(restored, IsEmpty());
  EXPECT_EQ(testing::get_text(fs, dir + "/step-00000020/manifest.json"), "the new one");
  EXPECT_THAT(tree(fs, dir), ElementsAre("step-00000020/", "step-00000020/manifest.json"));
}

TEST_F(Recover, LeavesAloneWhatALiveToolHolds) {
  put("step-00000020.tmp-rewrite/old/manifest.json");
  const auto held = fs.lock(dir + "/step-00000020.tmp-rewrite/lock");
  ASSERT_TRUE(held.ok());
  const std::vector<std::string> before = tree(fs, dir);
  EXPECT_THAT(recover_folder(fs, dir), IsEmpty());
  EXPECT_EQ(tree(fs, dir), before);
}

TEST_F(Recover, PutsBackAnExportButCleansOnlyAfterSteps) {
  put("export.tmp-rewrite/old/manifest.json");
  put("export.tmp-rewrite/new/f");
  EXPECT_THAT(recover_folder(fs, dir), IsEmpty());
  EXPECT_THAT(tree(fs, dir), ElementsAre("export/", "export/manifest.json", "export.tmp-rewrite/",
                                         "export.tmp-rewrite/new/", "export.tmp-rewrite/new/f"));
}

TEST_F(Recover, PuttingBackAloneRemovesNothing) {
  put("step-00000020.tmp-rewrite/old/manifest.json");
  put("step-00000002.tmp-00000000000a/f");
  EXPECT_THAT(put_back_all(fs, dir), IsEmpty());
  EXPECT_THAT(tree(fs, dir),
              ElementsAre("step-00000002.tmp-00000000000a/", "step-00000002.tmp-00000000000a/f", "step-00000020/",
                          "step-00000020/manifest.json", "step-00000020.tmp-rewrite/"));
}

}  // namespace
}  // namespace titan::ckpt::recover_test
