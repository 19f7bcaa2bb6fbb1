// Where configuration and checkpoint disagree, no run goes on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "converters/dcp/torchtitan.h"
#include "tests/converters/dcp/mini.h"

namespace titan::convert::dcp::dcp_resume_test {
namespace {

using ::testing::HasSubstr;
using testing::kNextLr;
using testing::Mini;
using testing::mini_config;
using testing::plan_mini;

struct Refused {
  const char* name;
  Mini mini;
  std::map<std::string, std::string> config;
  const char* message;
};
class DcpResume : public ::testing::TestWithParam<Refused> {};

TEST_P(DcpResume, IsRefusedWhereConfigurationAndCheckpointDisagree) {
  const Result<ImportPlan> result = plan_mini(GetParam().mini, {{}, mini_config(GetParam().config)});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.status().code, ckpt::Code::kIncompatible);
  EXPECT_THAT(result.status().message, HasSubstr(GetParam().message));
}

using Path = std::vector<std::string>;
INSTANTIATE_TEST_SUITE_P(
    Table, DcpResume,
    ::testing::Values(
        Refused{"WrongTotal",
                {},
                {{"training.steps", "21"}},
                "lr_scheduler._last_lr is 0.00051, but lr(11) of the configuration's curve is"},
        Refused{"WrongWarmup", {}, {{"lr_scheduler.warmup_steps", "5"}}, "lr_scheduler._last_lr is 0.00051"},
        Refused{"WrongPeak",
                {},
                {{"optimizer.lr", "2e-3"}},
                "lr_scheduler.base_lrs is 0.001, but optimizer.lr of the configuration is 0.002"},
        Refused{"WrongBeta",
                {},
                {{"optimizer.beta2", "0.99"}},
                "betas is 0.95, but optimizer.beta2 of the configuration is 0.99"},
        Refused{"WrongDecay", {}, {{"optimizer.weight_decay", "0"}}, "weight_decay is 0.1, but optimizer.weight_decay"},
        Refused{"WrongEps", {}, {{"optimizer.eps", "1e-6"}}, "eps is 1e-08, but optimizer.eps"},
        Refused{"OtherOptimizer", {}, {{"optimizer.name", "\"Adam\""}}, "Titan can only continue with AdamW"},
        Refused{"NoHeads", {}, {{"model.n_heads", "not set"}}, "does not say model.n_heads of"},
        Refused{"NothingSaid",
                {},
                {{"model.n_heads", "not set"}, {"model.rope_scaling", "not set"}, {"model.rope_theta", "not set"}},
                "does not say model.n_heads, model.rope_theta and model.rope_scaling of"},
        Refused{"MaskedFlavor",
                {},
                {{"model.n_heads", "not set"}, {"model.flavor", "\"8B_flex\""}},
                "flavour `8B_flex` masks attention between documents"},
        Refused{"NoTheta", {}, {{"model.rope_theta", "not set"}}, "does not say model.rope_theta of"},
        Refused{"NoScaling", {}, {{"model.rope_scaling", "not set"}}, "does not say model.rope_scaling of"},
        Refused{"NoRope",
                {},
                {{"model.rope_scaling", "not set"}, {"model.rope_theta", "not set"}},
                "does not say model.rope_theta and model.rope_scaling of"},
        Refused{"WrongHeads", {}, {{"model.n_heads", "3"}}, "do not make whole heads"},
        Refused{"WrongDim", {}, {{"model.dim", "16"}}, "model.dim is 16 in the configuration and 8 in the tensors"},
        Refused{"EpochBehind",
                {.changes = {{Path{"lr_scheduler", "last_epoch"}, ItemValue::of(std::int64_t{9})}}},
                {},
                "lr_scheduler.last_epoch is 9, but train_state.step is 10"},
        Refused{"OneStepOdd", {.odd_step = 9}, {}, "optimizer.state.norm.weight.step is 9, but train_state.step is 10"},
        Refused{"OneGroupOdd",
                {.changes = {{Path{"optimizer", "param_groups.norm.weight.lr"}, ItemValue::of(0.5)}}},
                {},
                "param_groups.norm.weight.lr is 0.5"},
        Refused{
            "LrOffByALittle",
            {.changes = {{Path{"lr_scheduler", "_last_lr"}, ItemValue::list({ItemValue::of(kNextLr * (1 + 1e-11))})}}},
            {},
            "lr_scheduler._last_lr"},
        Refused{"NoWorld",
                {.changes = {{Path{"dataloader", "world_size"}, std::nullopt}}},
                {},
                "has no dataloader.world_size"},
        Refused{"NothingSaidOfModelAndRanks",
                {.changes = {{Path{"dataloader", "world_size"}, std::nullopt}}},
                {{"model.n_heads", "not set"}},
                "does not say model.n_heads and parallelism.data_parallel_shard_degree of"},
        Refused{"NoTokens",
                {.changes = {{Path{"train_state", "ntokens_seen"}, std::nullopt}}},
                {},
                "has no train_state.ntokens_seen"},
        Refused{"WorldOfNone",
                {.changes = {{Path{"dataloader", "world_size"}, ItemValue::of(std::int64_t{0})}}},
                {},
                "dataloader.world_size is 0, expected the number of data ranks"},
        Refused{"NoBaseRates",
                {.changes = {{Path{"lr_scheduler", "base_lrs"}, std::nullopt}}},
                {},
                "has no lr_scheduler.base_lrs"},
        Refused{"EmptyBaseRates",
                {.changes = {{Path{"lr_scheduler", "base_lrs"}, ItemValue::list({})}}},
                {},
                "lr_scheduler.base_lrs is empty"},
        Refused{"NoLastRates",
                {.changes = {{Path{"lr_scheduler", "_last_lr"}, std::nullopt}}},
                {},
                "has no lr_scheduler._last_lr"},
        Refused{"EmptyLastRates",
                {.changes = {{Path{"lr_scheduler", "_last_lr"}, ItemValue::list({})}}},
                {},
                "lr_scheduler._last_lr is empty"},
        Refused{"NoInitialRate",
                {.changes = {{Path{"optimizer", "param_groups.norm.weight.initial_lr"}, std::nullopt}}},
                {},
                "has no optimizer.param_groups.norm.weight.initial_lr"},
        Refused{"Amsgrad",
                {.changes = {{Path{"optimizer", "param_groups.norm.weight.amsgrad"}, ItemValue::boolean(true)}}},
                {},
                "amsgrad is True, expected False"},
        Refused{"CoupledDecay",
                {.changes = {{Path{"optimizer", "param_groups.norm.weight.decoupled_weight_decay"},
                              ItemValue::boolean(false)}}},
                {},
                "norm.weight.decoupled_weight_decay is False, expected True"},
        Refused{"Maximize",
                {.changes = {{Path{"optimizer", "param_groups.norm.weight.maximize"}, ItemValue::boolean(true)}}},
                {},
                "maximize is True, expected False"},
        Refused{"UnknownField",
                {.changes = {{Path{"optimizer", "param_groups.norm.weight.rho"}, ItemValue::of(0.05)}}},
                {},
                "param_groups.norm.weight.rho is not a setting of AdamW"}),
    [](const auto& info) { return std::string(info.param.name); });

// What an export divides the tokens by again.
TEST(DcpResumeRanks, AnImportKeepsTheNumberOfDataRanks) {
  const Result<ImportPlan> result =
      plan_mini({.changes = {{Path{"dataloader", "world_size"}, ItemValue::of(std::int64_t{4})}}}, {{}, mini_config()});
  ASSERT_TRUE(result.ok()) << result.status().to_string();
  EXPECT_EQ(result->data_ranks, 4u);
}

TEST(DcpResumeGroups, HowAnUpdateIsComputedDoesNotMatter) {
  Mini mini;
  for (const char* field : {"foreach", "fused", "capturable", "differentiable", "decoupled_weight_decay"})
    mini.changes.push_back(
        {Path{"optimizer", std::string("param_groups.norm.weight.") + field}, ItemValue::boolean(true)});
  const Result<ImportPlan> result = plan_mini(mini, {{}, mini_config()});
  EXPECT_TRUE(result.ok()) << result.status().to_string();
}

// lr(total + 1) as torchtitan 0.2.2 stores it at the last step.
TEST(DcpResumeEnd, ACurveWithoutADecayEndsAtItsPeak) {
  ckpt::LrSettings settings{
      .peak = 0.001, .warmup_steps = 20, .total_steps = 20, .decay_type = "linear", .min_lr_factor = 0.1};
  EXPECT_EQ(next_lr(settings, 20), 0.001) << "a warm-up as long as the run";
  EXPECT_DOUBLE_EQ(next_lr(settings, 9), 0.0005);
  settings.warmup_steps = 200;
  EXPECT_EQ(next_lr(settings, 20), 0.001) << "a warm-up that is longer";
  settings.warmup_steps = 5, settings.decay_ratio = 0.0;
  EXPECT_EQ(next_lr(settings, 20), 0.001) << "no decay was asked for";
  settings.decay_ratio.reset();
  EXPECT_DOUBLE_EQ(next_lr(settings, 20), 0.0001) << "a decay ends at its floor";

  Mini mini;
  mini.changes.push_back({Path{"lr_scheduler", "_last_lr"}, ItemValue::list({ItemValue::of(0.001)})});
  const Result<ImportPlan> tensors = plan_mini({}, {});
  for (const ckpt::ParameterMeta& parameter : tensors->parameters)
    mini.changes.push_back({Path{"optimizer", "param_groups." + parameter.name + ".lr"}, ItemValue::of(0.001)});
  const Result<ImportPlan> result =
      plan_mini(mini, {{}, mini_config({{"training.steps", "10"}, {"lr_scheduler.warmup_steps", "10"}})});
  EXPECT_TRUE(result.ok()) << result.status().to_string();
}

}  // namespace
}  // namespace titan::convert::dcp::dcp_resume_test
