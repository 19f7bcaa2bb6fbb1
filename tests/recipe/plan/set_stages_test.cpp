#include "recipe/plan/set_stages.h"

#include <gmock/gmock.h>

#include "tests/recipe/support/config_support.h"

namespace titan::recipe::set_stages_test {
namespace {

TEST(SetStages, PutsEachParameterOnItsStageAndRank) {
  RunPlan plan = *make_run_plan(
      load_ok("", split("model.n_layers=6 model.dim=64 model.n_heads=4 training.global_batch_size=32 "
                        "parallelism.pipeline_parallel_degree=2 parallelism.pipeline_parallel_schedule=ZBVZeroBubble"))
          .config,
      2);
  ASSERT_TRUE(set_stages({0, 3, 2, 1}, plan).ok());
  EXPECT_THAT(plan.stage_cuts, testing::ElementsAre(1, 4, 6));
  for (std::size_t i = 0; i < plan.parameters.size(); ++i) {
    const std::string& name = plan.parameters[i].name;
    const std::uint32_t stage = name.starts_with("tok")       ? 0
                                : name.starts_with("layers.") ? (name[7] < '3'   ? 1
                                                                 : name[7] < '5' ? 2
                                                                                 : 3)
                                                              : 3;
    EXPECT_EQ(plan.stage_of(i), stage) << name;
    EXPECT_EQ(plan.parameters[i].stage, stage == 0 || stage == 3 ? 0u : 1u) << name << ": a V";
  }
}

}  // namespace
}  // namespace titan::recipe::set_stages_test
