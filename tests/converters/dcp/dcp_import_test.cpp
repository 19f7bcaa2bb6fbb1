// What an import of a DCP directory plans.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ckpt/plan/lr_schedule.h"
#include "converters/model_config.h"
#include "tests/converters/dcp/mini.h"

namespace titan::convert::dcp {
namespace {

using testing::plan_mini;
using testing::kNextLr;
using testing::Mini;
using testing::mini_config;
using ::testing::HasSubstr;

TEST(DcpImport, WithTheConfigurationARunCanGoOn) {
  const Result<ImportPlan> result = plan_mini({}, {{}, mini_config()});
  ASSERT_TRUE(result.ok()) << result.status().to_string();
  EXPECT_EQ(result->step, 10u);
  EXPECT_EQ(result->parameters.front().name, "tok_embeddings.weight");
  EXPECT_EQ(result->parameters.back().name, "output.weight");
  EXPECT_EQ(result->tensors.size(), 3 * result->parameters.size());
  EXPECT_EQ(result->optimizer_steps, std::vector<std::uint64_t>(result->parameters.size(), 10));
  ASSERT_TRUE(result->train && result->lr);
  EXPECT_EQ(result->train->tokens, 640u);  // 320 of each of two ranks
  EXPECT_NEAR(ckpt::lr_at(result->lr->phases, 11), kNextLr, 1e-15);
  EXPECT_FALSE(result->data);
  const Result<ModelConfig> model = model_from_settings("m", result->config);
  ASSERT_TRUE(model.ok()) << model.status().to_string();
  EXPECT_EQ(model->n_kv_heads, 1u);
  EXPECT_EQ(model->rope_scaling, RopeScaling{});
}

TEST(DcpImport, TakesTheDataRanksFromTheConfigurationWhereTheSourceHasNone) {
  const Mini ours{.changes = {{std::vector<std::string>{"dataloader", "world_size"}, std::nullopt}}};
  const Result<ImportPlan> result = plan_mini(ours, {{}, mini_config({{"parallelism.data_parallel_shard_degree", "2"}, {"parallelism.data_parallel_replicate_degree", "3"}})});
  ASSERT_TRUE(result.ok()) << result.status().to_string();
  EXPECT_EQ(result->train->tokens, 320u * 6);
  EXPECT_THAT(result->notes, ::testing::Contains(HasSubstr("6 data ranks, taken from the configuration")));
  EXPECT_THAT(plan_mini(ours, {{}, mini_config()}).status().hint, HasSubstr("--set parallelism.data_parallel_shard_degree=N"));
}

TEST(DcpImport, WithoutTheConfigurationTakesTheTensorsAlone) {
  const Result<ImportPlan> result = plan_mini({}, {});
  ASSERT_TRUE(result.ok()) << result.status().to_string();
  EXPECT_EQ(result->tensors.size(), 3 * result->parameters.size());
  EXPECT_FALSE(result->train || result->lr || result->data);
  EXPECT_THAT(result->notes, ::testing::Contains(HasSubstr("tensors only")));
}

TEST(DcpImport, TakesTheStepOfAModelAloneFromTheFolder) {
  const Result<ImportPlan> result = plan_mini({.optimizer = false}, {});
  ASSERT_TRUE(result.ok()) << result.status().to_string();
  EXPECT_EQ(result->step, 10u);
  EXPECT_TRUE(result->optimizer_steps.empty());
}

TEST(DcpImport, ReadsTheNewerNamesOfAModel) {
  EXPECT_THAT(plan_mini({.newer_names = true}, {}).status().hint, HasSubstr("--skip 'optimizer.*'"));
  const Result<ImportPlan> looked = plan_mini({.newer_names = true}, {.look = true});
  ASSERT_TRUE(looked.ok()) << looked.status().to_string();
  EXPECT_TRUE(std::ranges::all_of(looked->tensors, [](const TensorPlan& tensor) { return tensor.ref.slot.empty(); })) << "the model alone";
  const Result<ImportPlan> result = plan_mini({.newer_names = true}, {.skip = {"optimizer.*"}});
  ASSERT_TRUE(result.ok()) << result.status().to_string();
  const Result<ImportPlan> older = plan_mini({.optimizer = false}, {});
  EXPECT_EQ(result->parameters, older->parameters);
}

}  // namespace
}  // namespace titan::convert::dcp
