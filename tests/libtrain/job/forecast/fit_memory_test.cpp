#include "libtrain/job/forecast/fit_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ckpt/base/size_text.h"
#include "libtrain/job/forecast/forecast.h"
#include "recipe/keys/config.h"
#include "recipe/plan/run_plan.h"

namespace titan::train::fit_memory_test {
namespace {

using testing::HasSubstr;

/// A large vocabulary and few layers: the best cut by cost gives the last rank the head alone.
recipe::Config config_of(const std::string& schedule = "1F1B") {
  recipe::Config config;
  config.model.dim = 64;
  config.model.n_layers = 12;
  config.model.n_heads = 4;
  config.model.vocab_size = 1024;
  config.training.local_batch_size = 2;
  config.training.global_batch_size = 64;
  config.training.seq_len = 128;
  config.parallelism.pipeline_parallel_degree = 4;
  config.parallelism.pipeline_parallel_schedule = schedule;
  config.parallelism.stage_cost = "layer=1,head=1";
  return config;
}

std::uint64_t largest(const recipe::Config& config, const recipe::RunPlan& plan) {
  return make_forecast(config, plan, 0, 0)->rank_bytes;
}

TEST(FitMemory, CutsTheStagesAnewWhereARankNeedsTooMuch) {
  for (const char* schedule : {"1F1B", "GPipe", "Interleaved1F1B", "ZBVZeroBubble"}) {
    recipe::Config config = config_of(schedule);
    const recipe::RunPlan free = *recipe::make_run_plan(config, 4);
    const std::uint64_t most = largest(config, free);
    recipe::RunPlan plan = free;
    config.parallelism.memory_limit = std::to_string(most);
    ASSERT_TRUE(fit_memory(config, 0, plan).ok());
    EXPECT_EQ(plan.stage_cuts, free.stage_cuts) << "it fits as it is";

    config.parallelism.memory_limit = "1MiB";
    const ckpt::Status status = fit_memory(config, 0, plan);
    ASSERT_EQ(status.code, ckpt::Code::kInvalid) << schedule;
    EXPECT_THAT(status.message, HasSubstr("parallelism.memory_limit 1MiB"));
    // The hint names the least limit: with it a cut is found that keeps to it.
    const std::size_t at = status.hint.find('=') + 1;
    config.parallelism.memory_limit = status.hint.substr(at, status.hint.find(',') - at);
    const ckpt::Status fitted = fit_memory(config, 0, plan);
    ASSERT_TRUE(fitted.ok()) << fitted.to_string();
    EXPECT_LE(largest(config, plan), *ckpt::parse_bytes(*config.parallelism.memory_limit));
    EXPECT_LE(largest(config, plan), most);
  }
}

TEST(FitMemory, OneRankCannotBeCutAndSizesAreSizes) {
  recipe::Config config = config_of();
  config.parallelism.pipeline_parallel_degree = 1;
  recipe::RunPlan plan = *recipe::make_run_plan(config, 1);
  EXPECT_TRUE(fit_memory(config, 0, plan).ok());
  config.parallelism.memory_limit = "1MiB";
  EXPECT_THAT(fit_memory(config, 0, plan).message, HasSubstr("one pipeline stage cannot be cut"));
  config.parallelism.memory_limit = "much";
  EXPECT_THAT(fit_memory(config, 0, plan).message, HasSubstr("expected a size such as \"24GiB\", found \"much\""));
}

}  // namespace
}  // namespace titan::train::fit_memory_test
