// What an import of a DCP directory plans.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ckpt/plan/lr_schedule.h"
#include "recipe/model/manifest_dims.h"
#include "tests/converters/dcp/mini.h"

namespace titan::convert::dcp::dcp_import_test {
namespace {

using ::testing::HasSubstr;
using testing::kNextLr;
using testing::Mini;
using testing::mini_config;
using testing::plan_mini;

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
  const Result<recipe::ModelDims> model = recipe::dims_from_rows("m", result->config);
  ASSERT_TRUE(model.ok()) << model.status().to_string();
  EXPECT_EQ(model->n_kv_heads, 1u);
  EXPECT_EQ(model->rope_scaling, recipe::RopeScaling{});
}

TEST(DcpImport, TakesTheDataRanksFromTheConfigurationWhereTheSourceHasNone) {
  const Mini ours{.changes = {{std::vector<std::string>{"dataloader", "world_size"}, std::nullopt}}};
  const Result<ImportPlan> result =
      plan_mini(ours, {{},
                       mini_config({{"parallelism.data_parallel_shard_degree", "2"},
                                    {"parallelism.data_parallel_replicate_degree", "3"}})});
  ASSERT_TRUE(result.ok()) << result.status().to_string();
  EXPECT_EQ(result->train->tokens, 320u * 6);
  EXPECT_THAT(result->notes, ::testing::Contains(HasSubstr("6 data ranks, taken from the configuration")));
  EXPECT_THAT(plan_mini(ours, {{}, mini_config()}).status().hint,
              HasSubstr("--set parallelism.data_parallel_shard_degree=N"));
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
  const Status unknown = plan_mini({.newer_names = true}, {}).status();
  EXPECT_EQ(unknown.code, ckpt::Code::kIncompatible);
  EXPECT_THAT(unknown.message, HasSubstr("'layers.0.attention.qkv_linear.wqkv.weight'"));
  EXPECT_THAT(unknown.hint, HasSubstr("model.n_heads, or take the model alone: --skip 'optimizer.*'"));
  const Result<ImportPlan> looked = plan_mini({.newer_names = true}, {.look = true});
  ASSERT_TRUE(looked.ok()) << looked.status().to_string();
  EXPECT_TRUE(std::ranges::all_of(looked->tensors, [](const TensorPlan& tensor) { return tensor.ref.slot.empty(); }))
      << "the model alone";
  const Result<ImportPlan> result = plan_mini({.newer_names = true}, {.skip = {"optimizer.*"}});
  ASSERT_TRUE(result.ok()) << result.status().to_string();
  const Result<ImportPlan> older = plan_mini({.optimizer = false}, {});
  EXPECT_EQ(result->parameters, older->parameters);
}

TEST(DcpImport, ARunWithTheNewerNamesGoesOnWithItsOptimizer) {
  const Result<ImportPlan> result = plan_mini({.newer_names = true}, {.config = mini_config()});
  ASSERT_TRUE(result.ok()) << result.status().to_string();
  EXPECT_EQ(result->tensors.size(), 3 * result->parameters.size());
  EXPECT_EQ(result->train->step, 10u);
  EXPECT_THAT(result->optimizer_steps, ::testing::Each(10u));
  std::vector<RowBlocks> blocks;
  for (const TensorPlan& tensor : result->tensors)
    if (tensor.ref.slot == ckpt::kExpAvg && tensor.blocks.rows != 0) blocks.push_back(tensor.blocks);
  EXPECT_THAT(blocks, ::testing::ElementsAre(RowBlocks{8, 16, 0}, RowBlocks{4, 16, 8}, RowBlocks{4, 16, 12}));
  // Rates stand in the groups alone.
  const Mini other{
      .newer_names = true,
      .changes = {{{"optimizer", "param_groups.layers.0.attention.qkv_linear.wqkv.weight.lr"}, ItemValue::of(0.5)}}};
  EXPECT_THAT(plan_mini(other, {.config = mini_config()}).status().message, HasSubstr("wqkv.weight.lr is 0.5"));
}

TEST(DcpImport, WithoutMomentsTheirCountsAreLeftOutToo) {
  for (const bool newer : {false, true}) {
    const Mini mini{.newer_names = newer};
    const Result<ImportPlan> alone = plan_mini(mini, {.skip = {"*.exp_avg*"}, .config = mini_config()});
    ASSERT_TRUE(alone.ok()) << alone.status().to_string();
    EXPECT_EQ(alone->tensors, plan_mini(mini, {.skip = {"optimizer.*"}, .config = mini_config()})->tensors);
    EXPECT_TRUE(alone->optimizer_steps.empty());
    EXPECT_EQ(plan_mini(mini, {.skip = {"*.exp_avg"}}).status().code, ckpt::Code::kIncompatible) << "a part of them";
  }
  const Mini lost{.without = {"optimizer.state.norm.weight.exp_avg"}};
  EXPECT_EQ(plan_mini(lost, {.skip = {"*.exp_avg_sq"}}).status().code, ckpt::Code::kIncompatible);
}

// What a conversion refuses can be looked at.
TEST(DcpLook, ShowsAnUnknownTensorUnderItsOwnName) {
  const Mini mini{.extra = {{"ema.norm.weight"}}};
  for (const std::optional<Settings>& config : {std::optional<Settings>(), std::optional(mini_config())}) {
    const Result<ImportPlan> strict = plan_mini(mini, {.config = config});
    EXPECT_EQ(strict.status().code, ckpt::Code::kIncompatible);
    EXPECT_THAT(strict.status().message, HasSubstr("a Titan checkpoint has no place for 'ema.norm.weight'"));
    EXPECT_THAT(strict.status().hint, HasSubstr("--skip 'ema.*'"));
  }
  EXPECT_TRUE(plan_mini(mini, {.skip = {"ema.*"}}).ok());
  const Result<ImportPlan> looked = plan_mini(mini, {.look = true});
  ASSERT_TRUE(looked.ok()) << looked.status().to_string();
  EXPECT_EQ(looked->parameters.back().name, "ema.norm.weight");
  EXPECT_EQ(looked->tensors.size(), 3 * looked->parameters.size() - 2);
  EXPECT_THAT(looked->left_out, ::testing::IsEmpty());
}

TEST(DcpLook, ShowsTheOptimizerStateThatThereIs) {
  const Mini mini{.without = {"optimizer.state.norm.weight.exp_avg", "optimizer.state.norm.weight.step"}};
  EXPECT_THAT(
      plan_mini(mini, {}).status().message,
      HasSubstr(
          "optimizer state is missing: 'optimizer.state.norm.weight.exp_avg', 'optimizer.state.norm.weight.step'"));
  const Result<ImportPlan> looked = plan_mini(mini, {.look = true});
  ASSERT_TRUE(looked.ok()) << looked.status().to_string();
  EXPECT_EQ(looked->tensors.size(), 3 * looked->parameters.size() - 1);
  ASSERT_EQ(looked->optimizer_steps.size(), looked->parameters.size());
  EXPECT_EQ(looked->optimizer_steps.back(), 10u) << "of output.weight, which comes after norm.weight";
}

TEST(DcpLook, NamesWhatItCannotShow) {
  const Mini mini{.changes = {{{"foo", "bar"}, ItemValue::of(std::int64_t{3})}},
                  .extra = {{"q8", "int8"}, {"optimizer.state.norm.weight.max_exp_avg_sq", "float32", {8}}}};
  const Result<ImportPlan> looked = plan_mini(mini, {.look = true});
  ASSERT_TRUE(looked.ok()) << looked.status().to_string();
  EXPECT_THAT(looked->left_out,
              ::testing::UnorderedElementsAre("q8", "optimizer.state.norm.weight.max_exp_avg_sq", "foo.bar"));
}

TEST(DcpImport, NamesEveryElementTypeThatItCannotHoldAtOnce) {
  const Status refused = plan_mini({.extra = {{"q8", "int8"}, {"z8", "int8"}}}, {}).status();
  EXPECT_EQ(refused.code, ckpt::Code::kUnsupported);
  EXPECT_THAT(refused.message, HasSubstr("tensor 'q8' has the element type int8, tensor 'z8' has the element type "
                                         "int8, which a Titan checkpoint cannot have"));
  EXPECT_THAT(refused.hint, HasSubstr("--skip 'q8' --skip 'z8'"));
}

TEST(DcpImport, SaysWhichValuesItDrops) {
  const Result<ImportPlan> result = plan_mini({.changes = {{{"foo", "bar"}, ItemValue::of(std::int64_t{3})}}}, {});
  ASSERT_TRUE(result.ok()) << result.status().to_string();
  EXPECT_THAT(result->notes, ::testing::Contains("dropped: 'foo.bar' (it is no tensor)"));
  const Result<ImportPlan> plain = plan_mini({}, {});
  EXPECT_THAT(plain->notes, ::testing::Each(::testing::Not(HasSubstr("dropped"))));
}

}  // namespace
}  // namespace titan::convert::dcp::dcp_import_test
