// What a run that lost its lock may still do: nothing that others see.
#include "ckpt/save/publish.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ckpt/read/snapshot.h"
#include "ckpt/save/commit.h"
#include "ckpt/save/receipt.h"
#include "ckpt/save/writer.h"
#include "tests/support/checkpoints.h"
#include "tests/support/files.h"
#include "tests/support/mem_fs.h"

namespace titan::ckpt::still_ours_test {
namespace {

using ::testing::HasSubstr;
using testing::MemFs;

const std::string kDir = "/run/checkpoint";

// A save of a step over a folder that is damaged, up to its commit.
struct Save {
  Save() {
    EXPECT_TRUE(testing::put_text(fs, kDir + "/step-00000012/manifest.json", "damaged").ok());
    tmp = begin_save(fs, kDir, snapshot, "abc").value();
    testing::PatternSource source(snapshot);
    for (std::uint32_t rank = 0; rank < snapshot.mesh.world(); ++rank)
      receipts.push_back(write_rank(fs, tmp, snapshot, rank, source).value());
  }
  MemFs fs;
  Snapshot snapshot = testing::make_snapshot(testing::small_model(), {1, 2, 1}, 64, 12);
  std::string tmp;
  std::vector<RankReceipt> receipts;
};

TEST(StillOurs, ASaveThatLostTheLockRenamesNothing) {
  Save save;
  const auto refused =
      commit_save(save.fs, kDir, save.tmp, save.snapshot, save.receipts, {.still_ours = [] { return locked("gone"); }});
  EXPECT_EQ(refused.status().code, Code::kLocked);
  EXPECT_EQ(testing::get_text(save.fs, kDir + "/step-00000012/manifest.json"), "damaged");
}

// How often it is asked, and whether the step was there when it was asked last.
struct Questions {
  int asked = 0;
  bool published = false;
};

Questions questions_of(Save& save, int refuse_at, Code expected) {
  Questions seen;
  const auto made = commit_save(save.fs, kDir, save.tmp, save.snapshot, save.receipts, {.still_ours = [&] {
                                  ++seen.asked;
                                  // The manifest is durable by now: between this question and the rename nothing takes
                                  // long.
                                  EXPECT_TRUE(save.fs.stat(save.tmp + "/manifest.json").ok());
                                  seen.published = save.fs.stat(kDir + "/step-00000012/model").ok();
                                  return seen.asked == refuse_at ? locked("gone") : ok_status();
                                }});
  EXPECT_EQ(made.ok() ? Code::kOk : made.status().code, expected);
  return seen;
}

TEST(StillOurs, IsAskedRightBeforeTheStepAppearsAndCanStopItThen) {
  Save save;
  const Questions seen = questions_of(save, 0, Code::kOk);
  EXPECT_EQ(seen.asked, 2) << "before the damaged one is moved aside, and before the step appears";
  EXPECT_FALSE(seen.published);
  Save again;
  questions_of(again, seen.asked, Code::kLocked);
  EXPECT_FALSE(again.fs.stat(kDir + "/step-00000012").ok());
}

// R11 of the review: after an unmount a run made its folder anew on the disk below, and saved there.
TEST(BeginSave, NeverMakesTheFolderOfSteps) {
  MemFs fs;
  const Snapshot snapshot = testing::make_snapshot(testing::small_model(), {1, 2, 1}, 64, 12);
  const auto begun = begin_save(fs, kDir, snapshot, "abc");
  EXPECT_EQ(begun.status().code, Code::kFailed);
  EXPECT_THAT(begun.status().message, HasSubstr(kDir + " is gone"));
  EXPECT_FALSE(fs.stat("/run").ok());
}

}  // namespace
}  // namespace titan::ckpt::still_ours_test
