#include "recipe/plan/stage_rules.h"

#include <gmock/gmock.h>

#include "recipe/plan/run_plan.h"
#include "tests/recipe/support/config_support.h"

namespace titan::recipe::stage_rules_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::string kModel =
    "model.dim=64 model.n_layers=8 model.n_heads=4 model.vocab_size=256 training.global_batch_size=64 "
    "parallelism.stage_cost=layer=1 parallelism.pipeline_parallel_degree=4";

Result<RunPlan> plan(const std::string& more, const std::vector<std::uint32_t>& most = {}) {
  return make_run_plan(load_ok("", split(kModel + (more.empty() ? "" : " ") + more)).config, 4, 0, most);
}

TEST(ChooseStages, TheBestByCostAndByRules) {
  EXPECT_THAT(plan("")->stage_cuts, ElementsAre(3, 5, 7));
  EXPECT_EQ(plan("")->stages_from, "");
  EXPECT_THAT(plan("parallelism.stage_pins=layers.3=0")->stage_cuts, ElementsAre(5, 6, 7));
  EXPECT_THAT(plan("", {1, 8, 8, 8})->stage_cuts, ElementsAre(2, 4, 6));
  const auto written = plan("parallelism.pipeline_parallel_layout=Et|tt|t*5|L");
  EXPECT_THAT(written->stage_cuts, ElementsAre(2, 4, 9));
  EXPECT_EQ(written->stages_from, "parallelism.pipeline_parallel_layout");
  EXPECT_THAT(plan("parallelism.pipeline_parallel_first_stage_less_layers=2")->stage_cuts, ElementsAre(2, 5, 8));
  // Stages that are written down say how many a rank has, where the schedule takes that.
  const auto looped = plan(
      "parallelism.pipeline_parallel_schedule=Interleaved1F1B parallelism.pipeline_parallel_layout=Et|t|t|t|t|t|t|tL");
  ASSERT_TRUE(looped.ok()) << looped.status().to_string();
  EXPECT_EQ(looped->chunks, 2u);
  EXPECT_EQ(looped->stage_cuts.size(), 7u);
}

TEST(ChooseStages, ContradictingRulesAreNamedAndTheNearestFix) {
  struct Case {
    const char *settings, *message, *hint;
  };
  const std::vector<Case> cases = {
      {"parallelism.min_layers_per_stage=3",
       "no cut of 8 layers into 4 stages keeps to parallelism.min_layers_per_stage 3",
       "set --parallelism.min_layers_per_stage=2, or --parallelism.pipeline_parallel_degree=2, the largest feasible"},
      {"parallelism.max_layers_per_stage=1",
       "no cut of 8 layers into 4 stages keeps to parallelism.max_layers_per_stage 1",
       "set --parallelism.max_layers_per_stage=2"},
      {"parallelism.stage_pins=layers.4=0 parallelism.max_layers_per_stage=4 parallelism.min_layers_per_stage=1",
       "parallelism.max_layers_per_stage 4 and parallelism.stage_pins \"layers.4=0\" contradict each other: no cut of "
       "8 layers into 4 stages keeps to both",
       "set --parallelism.max_layers_per_stage=5"},
      {"parallelism.stage_pins=layers.2=2,layers.5=1",
       "parallelism.stage_pins \"layers.2=2\" and parallelism.stage_pins \"layers.5=1\" contradict each other: no cut "
       "of 8 layers into 4 stages keeps to both",
       "leave one of them out"},
      {"parallelism.stage_pins=layers.8=0", "names a layer that is not there", ""},
      {"parallelism.stage_pins=layers.1=4", "names a stage that is not there; there are stages 0 to 3", ""},
      {"parallelism.stage_pins=one", "expected a layer and its stage such as \"layers.4=1\", found \"one\"", ""},
      {"parallelism.stage_pins=layers.1=1 parallelism.pipeline_parallel_schedule=LoopedBFS",
       "parallelism.stage_pins needs one stage on each rank; schedule LoopedBFS has 2", "pipeline_parallel_layout"},
      {"parallelism.pipeline_parallel_layout=Et|tt|t*5|L parallelism.max_layers_per_stage=4",
       "parallelism.pipeline_parallel_layout and parallelism.max_layers_per_stage 4 contradict each other: stage 2 has "
       "layers.3 to layers.7",
       "leave one of them out"},
      {"parallelism.pipeline_parallel_layout=Et*4|t*4L",
       "parallelism.pipeline_parallel_layout has 2 stages, which is not a multiple of "
       "parallelism.pipeline_parallel_degree 4",
       "schedule 1F1B takes 4 stages"},
      {"parallelism.pipeline_parallel_layout=Et|t|t|t|t|t|t|tL",
       "parallelism.pipeline_parallel_layout: schedule 1F1B has 1 stage on each rank, not 2", ""},
      {"parallelism.pipeline_parallel_layout=Et*2|t*2|t*2|t*2L parallelism.pipeline_parallel_layers_per_stage=5",
       "parallelism.pipeline_parallel_layout and parallelism.pipeline_parallel_layers_per_stage 5 contradict each "
       "other: the first has 4 stages, the second makes 2",
       "leave one of them out"},
  };
  for (const Case& c : cases) {
    const Status status = plan(c.settings).status();
    EXPECT_EQ(status.code, ckpt::Code::kInvalid) << c.settings;
    EXPECT_THAT(status.message, HasSubstr(c.message));
    EXPECT_THAT(status.hint, HasSubstr(c.hint)) << c.settings;
  }
  const Status memory = plan("parallelism.memory_limit=1GiB", {1, 1, 1, 1}).status();
  EXPECT_THAT(memory.message, HasSubstr("keeps to parallelism.memory_limit 1GiB"));
}

/// Models that left stages without parameters elsewhere.
TEST(ChooseStages, NoStageOfAStockModelIsEmpty) {
  const std::string qwen =
      "model.dim=896 model.n_layers=24 model.n_heads=14 model.n_kv_heads=2 model.ffn_dim=4864 "
      "model.vocab_size=151936 model.tied_embeddings=true model.qkv_bias=true";
  const std::string llama =
      "model.dim=2048 model.n_layers=16 model.n_heads=32 model.n_kv_heads=8 model.ffn_dim=8192 "
      "model.vocab_size=128256 model.tied_embeddings=true";
  const std::string smol =
      "model.dim=576 model.n_layers=30 model.n_heads=9 model.n_kv_heads=3 model.ffn_dim=1536 "
      "model.vocab_size=49152 model.tied_embeddings=true";
  for (const auto& [model, pp, schedule] : {std::tuple{qwen, 4, "1F1B"},
                                            {llama, 8, "1F1B"},
                                            {smol, 8, "1F1B"},
                                            {qwen, 4, "Interleaved1F1B"},
                                            {qwen, 4, "ZBVZeroBubble"},
                                            {llama, 8, "ZBVZeroBubble"},
                                            {smol, 8, "Interleaved1F1B"}}) {
    const auto made = make_run_plan(
        load_ok("", split(model + " training.global_batch_size=256 parallelism.pipeline_parallel_degree=" +
                          std::to_string(pp) + " parallelism.pipeline_parallel_schedule=" + schedule))
            .config,
        static_cast<std::uint32_t>(pp));
    ASSERT_TRUE(made.ok()) << made.status().to_string();
    std::vector<int> held(made->stage_count(), 0);
    for (std::size_t i = 0; i < made->parameters.size(); ++i) ++held[made->stage_of(i)];
    EXPECT_THAT(held, testing::Each(testing::Gt(0))) << model << " with " << schedule;
  }
}

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
}  // namespace titan::recipe::stage_rules_test
