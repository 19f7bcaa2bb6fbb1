#include "ckpt/ops/verify.h"

#include <gmock/gmock.h>

#include <cerrno>

#include "ckpt/run/run_folder.h"
#include "tests/support/failing_fs.h"
#include "tests/support/make_checkpoint.h"
#include "tests/support/mem_fs.h"

namespace titan::ckpt::verify_test {
namespace {

using testing::make_checkpoint;
using testing::MemFs;

class VerifyTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const std::uint64_t step : {10, 20})
      ASSERT_TRUE(make_checkpoint(fs_, "/run/checkpoint", {.step = step, .dp = 2}).ok());
  }
  VerifySummary verify(const std::string& target) {
    const Result<VerifySummary> summary = verify_target(fs_, {.target = target});
    EXPECT_TRUE(summary.ok()) << summary.status().to_string();
    return *summary;
  }
  void spoil(const std::string& path, std::uint64_t offset) {
    std::vector<std::byte> byte{std::byte{0x5a}};
    ASSERT_TRUE(fs_.overwrite(path, offset, byte).ok());
  }
  MemFs fs_;
  const std::string old_ = "/run/checkpoint/step-00000010", new_ = "/run/checkpoint/step-00000020";
};

TEST_F(VerifyTest, ChecksOneCheckpointOrAllStepsOfARun) {
  const VerifySummary one = verify(old_), named = verify("/run@20"), all = verify("/run");
  EXPECT_FALSE(one.is_run || named.is_run);
  EXPECT_TRUE(all.is_run);
  EXPECT_TRUE(one.ok() && named.ok() && all.ok());
  ASSERT_EQ(all.steps.size(), 2u);
  EXPECT_EQ(all.steps[0].path, new_);
  EXPECT_EQ(all.leaves, one.leaves + named.leaves);
  EXPECT_EQ(all.bytes, one.bytes + named.bytes);
  EXPECT_GT(one.leaves, 60u);
}

TEST_F(VerifyTest, ReportsDamageInOneOfTheStepsAsPartOfTheReport) {
  spoil(old_ + "/train_state.json", 4);
  const VerifySummary all = verify("/run");
  EXPECT_FALSE(all.ok());
  EXPECT_TRUE(all.unreadable().ok());
  EXPECT_EQ(all.damage, 1u);
  EXPECT_TRUE(all.steps[0].report.damage.empty());
  ASSERT_EQ(all.steps[1].report.damage.size(), 1u);
  EXPECT_EQ(all.steps[1].report.damage[0].file, "train_state.json");
}

TEST_F(VerifyTest, CallsAStepWithoutManifestDamagedAndNotMissing) {
  ASSERT_TRUE(fs_.remove_file(new_ + "/manifest.json").ok());
  for (const std::string& target : {new_, std::string("/run"), std::string("/run@20")}) {
    const VerifySummary summary = verify(target);
    EXPECT_EQ(summary.damage, 1u) << target;
    EXPECT_EQ(summary.steps[0].report.damage[0].unit, "missing") << target;
  }
}

TEST_F(VerifyTest, AStepThatThisUserMayNotReadIsSaidAndTheOthersAreChecked) {
  for (const char* member : {"/manifest.json", "/model/shard-00000.h5"}) {
    testing::FailingFs failing(fs_);
    failing.arm({.op = testing::Op::kOpenRead,
                 .path_part = new_ + member,
                 .repeat = testing::Repeat::kSticky,
                 .error = EACCES});
    const auto all = verify_target(failing, {.target = "/run"});
    ASSERT_TRUE(all.ok()) << all.status().to_string();
    ASSERT_EQ(all->steps.size(), 2u);
    EXPECT_EQ(all->steps[0].readable.code, Code::kFailed);
    EXPECT_GT(all->steps[1].report.leaves, 60u);
    EXPECT_TRUE(all->steps[1].report.damage.empty());
    EXPECT_FALSE(all->ok());
    EXPECT_EQ(all->unreadable().code, Code::kFailed);
  }
}

TEST_F(VerifyTest, LeavesOutAStepThatWasDeletedMeanwhile) {
  const auto while_checking = [&](const std::string& target, const std::function<void()>& act, bool midway) {
    bool done = false;
    const auto once = [&](const std::string& path) {
      if (!done && path == old_) done = true, act();
    };
    std::string present;
    VerifyOptions options{.target = target};
    options.begin = [&](const std::string& path) { midway ? void(present = path) : once(path); };
    options.progress = [&](std::uint64_t, std::uint64_t) { once(present); };
    options.threads = 1;
    return verify_target(fs_, options);
  };
  const auto retire = [&] { ASSERT_TRUE(delete_step(fs_, "/run/checkpoint", "step-00000010", "1").ok()); };
  for (const bool midway : {false, true}) {
    const Result<VerifySummary> summary = while_checking("/run", retire, midway);
    ASSERT_TRUE(summary.ok()) << summary.status().to_string();
    EXPECT_TRUE(summary->ok()) << midway;
    EXPECT_EQ(summary->damage, 0u);
    EXPECT_EQ(summary->steps.size(), 1u);
    EXPECT_THAT(summary->deleted, ::testing::ElementsAre(old_));
    ASSERT_TRUE(make_checkpoint(fs_, "/run/checkpoint", {.step = 10, .dp = 2}).ok());
  }
  const Result<VerifySummary> alone = while_checking(old_, retire, true);
  EXPECT_EQ(alone.status().code, Code::kNotFound);
  EXPECT_THAT(alone.status().message, ::testing::HasSubstr("deleted while it was checked"));

  ASSERT_TRUE(make_checkpoint(fs_, "/run/checkpoint", {.step = 10, .dp = 2}).ok());
  const auto lose = [&] { ASSERT_TRUE(fs_.remove_file(old_ + "/train_state.json").ok()); };
  const Result<VerifySummary> lost = while_checking("/run", lose, true);
  ASSERT_TRUE(lost.ok());
  EXPECT_EQ(lost->damage, 1u) << "the step is still there";
  EXPECT_TRUE(lost->deleted.empty());
}

TEST_F(VerifyTest, HasNothingToSayAboutWhatIsNotThere) {
  EXPECT_EQ(verify_target(fs_, {.target = "/nowhere"}).status().code, Code::kNotFound);
  EXPECT_EQ(verify_target(fs_, {.target = "/run@11"}).status().code, Code::kNotFound);
  ASSERT_TRUE(fs_.make_dir("/empty").ok());
  ASSERT_TRUE(fs_.make_dir("/empty/checkpoint").ok());
  EXPECT_EQ(verify_target(fs_, {.target = "/empty"}).status().code, Code::kNotFound);
}

TEST_F(VerifyTest, TellsWhichStepIsBegunAndHowFarItIs) {
  std::vector<std::string> begun;
  std::uint64_t last_done = 0, last_total = 1;
  VerifyOptions options{.target = "/run", .begin = [&](const std::string& path) { begun.push_back(path); }};
  options.progress = [&](std::uint64_t done, std::uint64_t total) { last_done = done, last_total = total; };
  ASSERT_TRUE(verify_target(fs_, options).ok());
  EXPECT_THAT(begun, ::testing::ElementsAre(new_, old_));
  EXPECT_LE(last_done, last_total);
}

}  // namespace
}  // namespace titan::ckpt::verify_test
