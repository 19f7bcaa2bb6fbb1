// The run folder with real checkpoints: what CheckpointReader::open accepts is what a resume takes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ckpt/base/path.h"
#include "ckpt/format/member_names.h"
#include "ckpt/run/run_check.h"
#include "ckpt/run/run_folder.h"
#include "ckpt/run/run_resolve.h"
#include "ckpt/save/publish.h"
#include "tests/support/checkpoints.h"
#include "tests/support/failing_fs.h"
#include "tests/support/files.h"
#include "tests/support/mem_fs.h"

namespace titan::ckpt::run_check_test {
namespace {

using ::testing::HasSubstr;

class RealRun : public ::testing::Test {
 protected:
  RealRun() {
    for (std::uint64_t step : {10, 20, 30}) {
      Result<Published> saved =
          testing::save(fs, dir, testing::make_snapshot(testing::small_model(), {1, 2, 1}, 16, step));
      EXPECT_TRUE(saved.ok()) << saved.status().to_string();
    }
  }
  std::uint64_t resumed() {
    Result<RunScan> scan = scan_run(fs, dir);
    EXPECT_TRUE(scan.ok());
    choice = select_resume(*scan);
    skipped = choice.skipped;
    return choice.entry ? choice.entry->step : 0;
  }
  std::string at(std::uint64_t step, const std::string& name) const {
    return join_path(join_path(dir, step_name(step)), name);
  }

  testing::MemFs fs;
  std::string dir = "/run/checkpoint";
  ResumeChoice choice;
  std::vector<std::string> skipped;
};

TEST_F(RealRun, TheNewestStepIsTakenAndAllAreFull) {
  EXPECT_EQ(resumed(), 30u);
  Result<RunScan> scan = scan_run(fs, dir);
  ASSERT_TRUE(scan.ok());
  EXPECT_EQ(scan->steps.size(), 3u);
  for (const StepEntry& entry : scan->steps) EXPECT_TRUE(entry.validity.ok() && entry.full) << entry.path;
  EXPECT_TRUE(scan->leftovers.empty());
  EXPECT_TRUE(scan->foreign.empty());
  EXPECT_EQ(*resolve_checkpoint(fs, "/run@latest"), dir + "/step-00000030");
}

TEST_F(RealRun, ACutMemberAndAMissingManifestAreSkippedWithReasons) {
  const std::string shard = "model/shard-00000.h5";
  ASSERT_TRUE(fs.resize(at(30, shard), 100).ok());
  ASSERT_TRUE(fs.remove_file(at(20, "manifest.json")).ok());
  EXPECT_EQ(resumed(), 10u);
  EXPECT_THAT(skipped, ::testing::ElementsAre(HasSubstr(shard), HasSubstr("step-00000020")));
  EXPECT_EQ(*resolve_checkpoint(fs, "/run@latest"), dir + "/step-00000010");
  EXPECT_EQ(*resolve_checkpoint(fs, "/run@30"), dir + "/step-00000030");
  // A tool that was killed between two renames has it.
  ASSERT_TRUE(fs.make_dir(dir + "/step-00000010.tmp-rewrite").ok());
  ASSERT_TRUE(fs.rename(dir + "/step-00000010", dir + "/step-00000010.tmp-rewrite/old").ok());
  EXPECT_EQ(*resolve_checkpoint(fs, "/run@latest"), dir + "/step-00000010.tmp-rewrite/old");
  EXPECT_EQ(*resolve_checkpoint(fs, "/run@10"), dir + "/step-00000010.tmp-rewrite/old");
}

TEST_F(RealRun, AFlippedBitInTheManifestAndACopyUnderAnotherNameAreInvalid) {
  const std::byte flipped[] = {std::byte{'X'}};
  ASSERT_TRUE(fs.overwrite(at(30, "manifest.json"), 300, flipped).ok());
  ASSERT_TRUE(fs.rename(join_path(dir, step_name(20)), join_path(dir, step_name(25))).ok());
  EXPECT_EQ(resumed(), 10u);
  EXPECT_THAT(skipped.at(1), HasSubstr("step 20"));
}

TEST_F(RealRun, AFolderThatCannotBeReadIsAFailureAndNotNothing) {
  for (const std::string& unreadable : {std::string("/run"), dir}) {
    testing::FailingFs failing(fs);
    failing.arm(
        {.op = testing::Op::kList, .path_part = unreadable, .repeat = testing::Repeat::kSticky, .error = EACCES});
    for (const char* spec : {"/run", "/run@10", "/run@latest"}) {
      const Status status = resolve_checkpoint(failing, spec).status();
      EXPECT_EQ(status.code, Code::kFailed) << spec;
      EXPECT_THAT(status.to_string(), HasSubstr("Permission denied")) << spec;
    }
    EXPECT_EQ(resolve_run(failing, "/run").status().code, Code::kFailed);
  }
  ASSERT_TRUE(testing::put_text(fs, "/file", "").ok());
  EXPECT_EQ(*resolve_checkpoint(fs, "/file"), "/file") << "a foreign file is passed on";
}

}  // namespace
}  // namespace titan::ckpt::run_check_test
