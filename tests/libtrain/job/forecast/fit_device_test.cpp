#include "libtrain/job/forecast/fit_device.h"

#include <gmock/gmock.h>

#include "recipe/keys/config.h"
#include "recipe/plan/run_plan.h"

namespace titan::train::fit_device_test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::StartsWith;

recipe::Config llama(const char* flavor, std::int64_t micro_batches) {
  recipe::Config config;
  config.model.flavor = flavor;
  config.training.seq_len = 8192;
  config.training.local_batch_size = 1;
  config.training.global_batch_size = micro_batches;
  return config;
}

FittingSearch search(const recipe::Config& config, std::uint32_t world, const recipe::DeviceFigures& device) {
  const auto plan = recipe::make_run_plan(config, world);
  EXPECT_TRUE(plan.ok()) << plan.status().to_string();
  return settings_that_fit(config, *plan, device);
}

/// As `settings` say.
recipe::RunPlan plan_with(const recipe::Config& config, const FittingSettings& settings, std::uint32_t world) {
  recipe::Config changed = config;
  for (const std::string& word : settings.words) {
    const std::string value = word.substr(word.find('=') + 1);
    if (word.starts_with("--activation_checkpoint.mode")) changed.activation_checkpoint.mode = value;
    if (word.starts_with("--parallelism.data_parallel_sharding")) changed.parallelism.data_parallel_sharding = value;
    if (word.starts_with("--parallelism.data_parallel_shard_degree"))
      changed.parallelism.data_parallel_shard_degree = std::stoll(value);
    if (word.starts_with("--parallelism.pipeline_parallel_degree"))
      changed.parallelism.pipeline_parallel_degree = std::stoll(value);
    if (word.starts_with("--training.loss_chunk")) changed.training.loss_chunk = std::stoll(value);
    if (word.starts_with("--training.global_batch_size")) changed.training.global_batch_size = std::stoll(value);
    if (word.starts_with("--parallelism.pipeline_parallel_microbatch_size"))
      changed.parallelism.pipeline_parallel_microbatch_size = std::stoll(value);
  }
  return recipe::make_run_plan(changed, world).value();
}

TEST(FitDevice, WhatItNamesFits) {
  const recipe::DeviceFigures h100 = *recipe::device_figures("h100");
  for (const auto& [flavor, world] : {std::pair{"8B", 8u}, {"70B", 64u}}) {
    const recipe::Config config = llama(flavor, 2 * world);
    const FittingSearch found = search(config, world, h100);
    ASSERT_FALSE(found.fits.empty()) << flavor;
    double before = 0;
    for (const FittingSettings& fit : found.fits) {
      const recipe::RunPlan plan = plan_with(config, fit, world);
      EXPECT_LE(fit.rank_bytes, h100.memory_bytes);
      EXPECT_EQ(*device_bytes(plan, h100), fit.rank_bytes) << testing::PrintToString(fit.words);
      EXPECT_EQ(plan.batch.global, 2 * world);
      EXPECT_EQ(fit.words.size(), found.fits[0].words.size()) << "as few changes as can be";
      EXPECT_GE(fit.step_seconds, before) << "fastest first";
      before = fit.step_seconds;
    }
  }
}

TEST(FitDevice, KeepsBatchAndRanksWhereTheMeshIsWritten) {
  recipe::Config config = llama("8B", -1);
  config.parallelism.data_parallel_shard_degree = 8;
  recipe::DeviceFigures device = *recipe::device_figures("h100");
  device.memory_bytes = std::uint64_t{60} << 30;
  const FittingSearch found = search(config, 8, device);
  ASSERT_FALSE(found.fits.empty());
  for (const FittingSettings& fit : found.fits) {
    const recipe::RunPlan plan = plan_with(config, fit, 8);
    EXPECT_EQ(plan.batch.global, 8);
    EXPECT_EQ(*device_bytes(plan, device), fit.rank_bytes);
  }
}

TEST(FitDevice, SaysWhatNeedsLeastWhereNothingFits) {
  recipe::DeviceFigures device = *recipe::device_figures("h100");
  device.memory_bytes = std::uint64_t{3} << 30;
  const FittingSearch found = search(llama("8B", 16), 8, device);
  EXPECT_TRUE(found.fits.empty());
  EXPECT_GT(found.least.rank_bytes, device.memory_bytes);
  EXPECT_THAT(found.least.words, Contains(StartsWith("--parallelism.pipeline_parallel_degree=")));
}

TEST(FitDevice, SaysWhichSettingsShapeTheCurve) {
  // One rank, one micro-batch: the logits of a large vocabulary are most of what it needs.
  recipe::Config config;
  config.model.dim = 1024;
  config.model.n_layers = 2;
  config.model.n_heads = 8;
  config.model.vocab_size = 128256;
  config.training.seq_len = 8192;
  config.training.local_batch_size = 1;
  config.training.global_batch_size = 1;
  config.activation_checkpoint.mode = "full";
  config.parallelism.data_parallel_sharding = "zero2";
  recipe::DeviceFigures device = *recipe::device_figures("h100");
  const recipe::RunPlan plan = recipe::make_run_plan(config, 1).value();
  device.memory_bytes = *device_bytes(plan, device) - 1;
  const FittingSearch found = search(config, 1, device);
  ASSERT_FALSE(found.fits.empty());
  EXPECT_THAT(found.fits[0].words, ElementsAre("--training.loss_chunk=2048"));
  EXPECT_FALSE(found.fits[0].same_curve);
}

}  // namespace
}  // namespace titan::train::fit_device_test
