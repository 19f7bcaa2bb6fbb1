#include "libtrain/job/start/space.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ckpt/base/files.h"
#include "recipe/keys/config.h"
#include "recipe/plan/run_plan.h"
#include "tests/support/files.h"
#include "tests/support/mem_fs.h"

namespace titan::train::space_test {
namespace {

using testing::HasSubstr;
constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

/// Checkpoints of 10 MiB, of which `at_once` are added at most and `kept` stay.
SpaceNeed need(std::uint64_t at_once, std::uint64_t kept) {
  SpaceNeed need;
  need.saves.model_bytes = 4 * kMiB;
  need.saves.optimizer_bytes = 6 * kMiB;
  need.saves.peak_count = at_once;
  need.saves.kept = kept;
  need.saves.one_save = 11 * kMiB;
  return need;
}

TEST(Space, ARunWhoseFirstSaveDoesNotFitIsRefused) {
  for (const std::uint64_t kept : {0, 10}) {
    const SpaceVerdict verdict = judge_space(need(1, kept), 8 * kMiB, "run/checkpoint");
    EXPECT_EQ(verdict.refused.code, ckpt::Code::kFailed);
    EXPECT_EQ(verdict.refused.message,
              "not enough space for a checkpoint in run/checkpoint: it needs about 11.0 MiB, 8.0 MiB are free; the "
              "first save would fail");
    EXPECT_THAT(verdict.refused.hint, HasSubstr("job.dump_folder"));
    EXPECT_EQ(verdict.refused.hint.find("keep_latest_k"), std::string::npos) << "no number of steps fits";
  }
  EXPECT_TRUE(judge_space(need(1, 10), 11 * kMiB, "run").refused.ok());
}

TEST(Space, ARunWhoseRetentionDoesNotFitIsToldWhichSaveWouldFailAndWhatFits) {
  const SpaceVerdict verdict = judge_space(need(11, 10), 40 * kMiB, "run/checkpoint");
  EXPECT_EQ(verdict.refused.code, ckpt::Code::kFailed);
  EXPECT_EQ(verdict.refused.message,
            "not enough space for the 11 checkpoints that this run adds at most (checkpoint.keep_latest_k = 10, and "
            "the one being saved) in run/checkpoint: "
            "they need about 111.0 MiB, 40.0 MiB are free; save 4 of this run would fail");
  EXPECT_THAT(verdict.refused.hint, HasSubstr("--checkpoint.keep_latest_k=2 would fit"));
  EXPECT_TRUE(judge_space(need(3, 2), 40 * kMiB, "run").refused.ok()) << "the hint is right";
  // Four are there already, and stay until the next one is whole.
  SpaceNeed resumed = need(7, 10);
  resumed.steps_there = 4;
  EXPECT_THAT(judge_space(resumed, 40 * kMiB, "run").refused.hint, HasSubstr("--checkpoint.keep_latest_k=6 would fit"));
}

TEST(Space, WhatMayFitIsAWarning) {
  EXPECT_THAT(judge_space(need(50, 0), 40 * kMiB, "run").warning,
              HasSubstr("the 50 checkpoints that this run saves and keeps"));
  EXPECT_TRUE(judge_space(need(50, 0), 40 * kMiB, "run").refused.ok()) << "whoever keeps all may delete by hand";
  SpaceNeed compressed = need(11, 10);
  compressed.compressed = true;
  EXPECT_TRUE(judge_space(compressed, 40 * kMiB, "run").refused.ok());
  EXPECT_FALSE(judge_space(compressed, 40 * kMiB, "run").warning.empty());
  EXPECT_FALSE(judge_space(compressed, 4 * kMiB, "run").refused.ok()) << "a save begins only with room for a raw one";
}

TEST(Space, NothingIsSaidWhereAllFitsOrNothingIsSaved) {
  EXPECT_TRUE(judge_space(need(11, 10), 111 * kMiB, "run").refused.ok());
  EXPECT_EQ(judge_space(need(11, 10), 111 * kMiB, "run").warning, "");
  EXPECT_EQ(judge_space(need(0, 10), 0, "run").warning, "");
}

TEST(Space, RetentionDoesNotCountPinnedStepsAndStepNought) {
  ckpt::testing::MemFs fs;
  recipe::Config config;
  config.job.dump_folder = "/run";
  EXPECT_EQ(count_kept_steps(fs, config), 0u);
  for (const char* step : {"step-00000000", "step-00000004", "step-00000008", "step-00000012"})
    ASSERT_TRUE(ckpt::make_dirs(fs, std::string("/run/checkpoint/") + step).ok());
  ASSERT_TRUE(ckpt::testing::put_text(fs, "/run/checkpoint/step-00000008/.keep", "").ok());
  EXPECT_EQ(count_kept_steps(fs, config), 2u);
}

TEST(Space, WhatADeadSaveLeftCountsAsFree) {
  ckpt::testing::MemFs fs(64 * kMiB);
  recipe::Config config;
  config.job.dump_folder = "/run";
  config.checkpoint.keep_latest_k = 1;
  config.model.dim = 256;
  config.model.n_layers = 1;
  config.model.n_heads = 4;
  config.model.vocab_size = 2048;
  const auto plan = recipe::make_run_plan(config, 1);
  ASSERT_TRUE(plan.ok()) << plan.status().to_string();
  ASSERT_TRUE(look_at_space(fs, config, *plan, 0).refused.ok()) << look_at_space(fs, config, *plan, 0).refused.message;
  const std::string dead = "/run/checkpoint/step-00000004.tmp-0123456789abcdef";
  ASSERT_TRUE(ckpt::make_dirs(fs, dead).ok());
  ASSERT_TRUE(ckpt::testing::put_text(fs, dead + "/file", std::string(40 * kMiB, 'x')).ok());
  EXPECT_TRUE(look_at_space(fs, config, *plan, 0).refused.ok());
  ASSERT_TRUE(fs.rename_noreplace(dead, "/run/checkpoint/mine").ok());
  EXPECT_FALSE(look_at_space(fs, config, *plan, 0).refused.ok()) << "the same bytes of somebody else stay";
}

}  // namespace
}  // namespace titan::train::space_test
