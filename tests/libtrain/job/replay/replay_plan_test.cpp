#include "libtrain/job/replay/replay_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ckpt/base/fs_posix.h"
#include "ckpt/plan/lr_settings.h"
#include "tests/support/make_checkpoint.h"
#include "tests/support/scratch_dir.h"

namespace titan::train::replay_plan_test {
namespace {

using ::testing::HasSubstr;

TEST(ReplayRange, IsARunAndTwoSteps) {
  const auto range = parse_replay_range("a@b/run@10..20");
  ASSERT_TRUE(range.ok());
  EXPECT_EQ(range->run, "a@b/run");
  EXPECT_EQ(range->from, 10u);
  EXPECT_EQ(range->to, 20u);
  for (const char* wrong : {"run", "run@10", "run@20..10", "run@10..10", "@1..2", "run@a..b", "run@1..", "run@..2"})
    EXPECT_EQ(parse_replay_range(wrong).status().code, ckpt::Code::kInvalid) << wrong;
}

class ReplayPlanning : public ::testing::Test {
 protected:
  ReplayPlanning() {
    for (const std::uint64_t step : {10, 20, 30}) {
      ckpt::testing::Synthetic made;
      made.step = step;
      made.dp = 2;
      made.config = {{"checkpoint.folder", "\"steps\""},
                     {"checkpoint.initial_load_path", "\"elsewhere\""},
                     {"checkpoint.keep_best", "2"},
                     {"checkpoint.keep_latest_k", "3"},
                     {"checkpoint.near", "\"/dev/shm/near\""},
                     {"metrics.status_file", "\"/var/titan.prom\""},
                     {"parallelism.data_parallel_sharding", "\"zero1\""},
                     {"training.steps", "100"}};
      EXPECT_TRUE(ckpt::testing::make_checkpoint(ckpt::posix_fs(), dir_ / "run/checkpoint", made).ok());
    }
  }
  ckpt::Result<ReplayPlan> plan(std::uint64_t from, std::uint64_t to, ReplayLayout layout = {}) {
    return plan_replay(ckpt::posix_fs(), {dir_ / "run", from, to}, layout);
  }

  ScratchDir dir_;
};

TEST_F(ReplayPlanning, KeepsTheConfigurationButForPlacesAndSaves) {
  const auto made = plan(10, 30);
  ASSERT_TRUE(made.ok()) << made.status().to_string();
  ASSERT_EQ(made->segments.size(), 1u);
  const ReplaySegment& segment = made->segments[0];
  EXPECT_EQ(segment.nproc, 2u) << "as the run had";
  EXPECT_THAT(segment.checkpoint, HasSubstr("step-00000010"));
  const auto value = [&](const char* key) { return ckpt::setting(segment.config, key); };
  EXPECT_EQ(value("training.steps"), "100");
  EXPECT_EQ(value("checkpoint.interval"), "20") << "the published step between";
  EXPECT_EQ(value("checkpoint.keep_latest_k"), "0") << "every step is compared at the end";
  EXPECT_EQ(value("debug.stop_at_step"), "30");
  EXPECT_EQ(value("checkpoint.folder"), ckpt::kNotSet);
  EXPECT_EQ(value("checkpoint.near"), ckpt::kNotSet) << "nothing is left in the run's near store";
  EXPECT_EQ(value("metrics.status_file"), ckpt::kNotSet) << "that of the run is not written over";
  EXPECT_EQ(value("checkpoint.initial_load_path"), ckpt::kNotSet) << "the run does not begin anew";
  EXPECT_EQ(value("parallelism.data_parallel_sharding"), "\"zero1\"");
}

// A later start may have had more steps, which its curve allowed: the first one's configuration has too few of them.
TEST_F(ReplayPlanning, StepsThatALaterStartAddedAreComputedOnTheCurveOfTheFirst) {
  for (const std::uint64_t step : {110, 120}) {
    ckpt::testing::Synthetic made;
    made.step = step;
    made.config = {{"training.steps", step == 110 ? "115" : "120"}};
    ASSERT_TRUE(ckpt::testing::make_checkpoint(ckpt::posix_fs(), dir_ / "run/checkpoint", made).ok());
  }
  const auto made = plan(30, 120);
  ASSERT_TRUE(made.ok()) << made.status().to_string();
  const ckpt::Settings& config = made->segments.front().config;
  EXPECT_EQ(ckpt::setting(config, "training.steps"), "120");
  EXPECT_EQ(ckpt::setting(config, "lr_scheduler.total_steps"), "115");
}

TEST_F(ReplayPlanning, ARangeBeyondTheEndIsNotProved) {
  const auto made = plan(10, 40);
  EXPECT_EQ(made.status().code, ckpt::Code::kNotFound);
  EXPECT_THAT(made.status().message, HasSubstr("nothing after step 30: steps to 40"));
}

TEST_F(ReplayPlanning, AnotherLayoutLeavesOutThatOfTheRun) {
  const auto made = plan(10, 20, {.nproc = 4, .pp = 2});
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(made->segments[0].nproc, 4u);
  EXPECT_EQ(ckpt::setting(made->segments[0].config, "parallelism.pipeline_parallel_degree"), "2");
  EXPECT_EQ(ckpt::setting(made->segments[0].config, "parallelism.data_parallel_sharding"), ckpt::kNotSet);
}

TEST_F(ReplayPlanning, WhatIsMissingIsNamed) {
  EXPECT_THAT(plan(15, 20).status().message, HasSubstr("has no full step 15, from which the replay would begin"));
  EXPECT_THAT(plan(30, 40).status().message, HasSubstr("has published nothing of steps 31 to 40"));
  EXPECT_EQ(plan_replay(ckpt::posix_fs(), {dir_ / "none", 1, 2}, {}).status().code, ckpt::Code::kNotFound);
}

TEST(ReplayRows, BecomeAFileWithSections) {
  EXPECT_EQ(toml_of_rows({{"a.x", "1"}, {"a.y", "\"t\""}, {"b.x", "[]"}}), "[a]\nx = 1\ny = \"t\"\n[b]\nx = []\n");
}

}  // namespace
}  // namespace titan::train::replay_plan_test
