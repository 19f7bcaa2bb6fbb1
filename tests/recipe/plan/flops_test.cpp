#include "recipe/plan/flops.h"

#include <gtest/gtest.h>

#include "recipe/keys/config.h"
#include "recipe/plan/run_plan.h"

namespace titan::recipe::flops_test {
namespace {

TEST(Flops, OfATokenOfLlama8B) {
  Config config;
  config.model.flavor = "8B";
  config.training.seq_len = 8192;
  const auto plan = make_run_plan(config, 1);
  ASSERT_TRUE(plan.ok()) << plan.status().to_string();
  // 8,030,261,248 parameters, without the table of 128256 x 4096; 32 layers of 32 heads of 128.
  EXPECT_DOUBLE_EQ(flops_per_token(*plan), 6.0 * (8'030'261'248.0 - 525'336'576.0) + 12.0 * 32 * 32 * 128 * 8192);
}

TEST(Flops, TiedTableIsTheHeads) {
  Config config;
  config.model.flavor = "8B";
  const double untied = flops_per_token(*make_run_plan(config, 1));
  config.model.tied_embeddings = true;
  EXPECT_DOUBLE_EQ(flops_per_token(*make_run_plan(config, 1)), untied);
}

}  // namespace
}  // namespace titan::recipe::flops_test
