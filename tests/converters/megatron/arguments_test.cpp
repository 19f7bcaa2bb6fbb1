// What the arguments of a run say: sizes, RoPE, and what is refused by name.
#include "converters/megatron/argument_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ckpt/plan/lr_settings.h"
#include "tests/converters/megatron/folder.h"

namespace titan::convert::megatron::arguments_test {
namespace {

using ckpt::Code;
using ckpt::testing::MemFs;
using ::testing::HasSubstr;
using testing::run_config;
using testing::Step;
using testing::whole;

class MegatronArguments : public testing::MegatronFolder {};

TEST_F(MegatronArguments, EachArgumentOfTheTableIsRefusedByName) {
  for (const ArgumentRule& rule : argument_rules()) {
    const bool set = rule.value == std::string(kSet), unset = rule.value == std::string(kUnset);
    const ItemValue text = ItemValue::of(std::string("other"));
    const std::vector<ItemValue> wrong = set     ? std::vector{ItemValue::boolean(false)}
                                         : unset ? std::vector{ItemValue::of(1.5), text}
                                                 : std::vector{whole(7), text};
    for (const ItemValue& value : wrong) {
      fs_ = MemFs();
      Step step;
      step.args[rule.name] = value;
      put(step);
      const Status status = rule.of_run ? planned({.config = run_config()}).status() : source_.status();
      EXPECT_EQ(status.code, Code::kUnsupported) << rule.name;
      EXPECT_THAT(status.message, HasSubstr(std::string("the argument ") + rule.name + " is"));
      if (rule.of_run) {
        EXPECT_THAT(status.hint, HasSubstr("--skip 'optimizer.*'"));
        EXPECT_TRUE(planned({.skip = {"optimizer.*"}, .config = run_config()}).ok()) << rule.name;
      }
    }
  }
}

// The values are written out here, since the table may have the wrong one.
TEST_F(MegatronArguments, ModelsThatOthersComputeOtherwiseAreRefused) {
  for (const char* name : {"use_mup", "scale_embedding", "scale_embeddings", "final_logit_softcapping"}) {
    for (const bool value : {true, false}) {
      fs_ = MemFs();
      Step step;
      step.args[name] = ItemValue::boolean(value);
      put(step);
      EXPECT_EQ(source_.status().code, value ? Code::kUnsupported : Code::kOk) << name << " " << value;
    }
  }
}

TEST_F(MegatronArguments, ArgumentsAsOurModelHasThemAreTaken) {
  Step step;
  for (const ArgumentRule& rule : argument_rules())
    step.args[rule.name] = rule.value == std::string(kSet)     ? ItemValue::boolean(true)
                           : rule.value == std::string(kUnset) ? ItemValue::boolean(false)
                                                               : ItemValue::of(std::string(rule.value));
  step.args["rotary_percent"] = ItemValue::of(1.0);
  put(step);
  const auto plan = planned({.config = run_config()});
  EXPECT_TRUE(plan.ok()) << plan.status().to_string();
}

TEST_F(MegatronArguments, ArgumentsOfAnotherKindDisagree) {
  const std::vector<std::pair<std::string, ItemValue>> cases{
      {"num_attention_heads", whole(0)},          {"hidden_size", ItemValue::of(std::string("6"))},
      {"num_layers", ItemValue::none()},          {"norm_epsilon", ItemValue::of(std::string("1e-5"))},
      {"rotary_base", ItemValue::boolean(true)},  {"group_query_attention", whole(1)},
      {"rotary_interleaved", ItemValue::of(1.0)}, {"lr_warmup_init", ItemValue::list({})}};
  for (const auto& [key, value] : cases) {
    fs_ = MemFs();
    Step step;
    step.args[key] = value;
    put(step);
    EXPECT_EQ(source_.status().code, Code::kIncompatible) << key;
    EXPECT_THAT(source_.status().message, HasSubstr("the argument " + key + " is"));
  }
  fs_ = MemFs();
  Step step;
  step.group["lr"] = ItemValue::of(std::string("0.1"));
  put(step);
  const Status run = planned({.config = run_config()}).status();
  EXPECT_EQ(run.code, Code::kIncompatible);
  EXPECT_THAT(run.message, HasSubstr("str '0.1' stands where a number is expected"));
}

TEST_F(MegatronArguments, EpsHasTwoNames) {
  Step step;
  step.args.erase("norm_epsilon");
  step.args["layernorm_epsilon"] = ItemValue::of(1e-6);
  put(step);
  const auto plan = planned();
  ASSERT_TRUE(plan.ok()) << plan.status().to_string();
  EXPECT_EQ(ckpt::setting(plan->config, "model.norm_eps"), "1e-06");
}

TEST_F(MegatronArguments, NormsOfQueriesAndKeysThatDecayAreRefusedForARun) {
  Step step;
  step.args["qk_layernorm"] = ItemValue::boolean(true);
  step.args["apply_wd_to_qk_layernorm"] = ItemValue::boolean(true);
  put(step);
  const Status run = planned({.config = run_config()}).status();
  EXPECT_EQ(run.code, Code::kUnsupported);
  EXPECT_THAT(run.message, HasSubstr("the argument apply_wd_to_qk_layernorm is"));
}

TEST_F(MegatronArguments, ArgumentsOfUsualRunsAreTaken) {
  Step step;
  step.args["optimizer"] = ItemValue::of(std::string("adam"));
  step.args["decoupled_weight_decay"] = ItemValue::boolean(true);
  step.args["apply_wd_to_qk_layernorm"] = ItemValue::boolean(true);  // there are no such norms
  step.args["glu_linear_offset"] = ItemValue::of(0.0);
  step.args["softmax_scale"] = ItemValue::none();
  put(step);
  const auto plan = planned({.config = run_config()});
  EXPECT_TRUE(plan.ok()) << plan.status().to_string();
}

TEST_F(MegatronArguments, ClippingAndSequencesOfTheRunAreCompared) {
  const std::vector<std::tuple<const char*, ItemValue, const char*>> cases{
      {"clip_grad", ItemValue::of(0.5), "clips gradients to the 2-norm 0.5"},
      {"clip_grad", whole(0), "clips gradients to the 2-norm 0.0"},
      {"seq_length", whole(32), "sequences of the run have 32 tokens"}};
  for (const auto& [key, value, message] : cases) {
    fs_ = MemFs();
    Step step;
    step.args[key] = value;
    put(step);
    EXPECT_THAT(planned({.config = run_config()}).status().message, HasSubstr(message));
    EXPECT_TRUE(planned({.skip = {"optimizer.*"}, .config = run_config()}).ok()) << "the weights alone";
  }
}

// The default of num_query_groups is 1, and counts only beside group_query_attention.
TEST_F(MegatronArguments, WithoutGroupsEachHeadHasAKey) {
  Step step;
  step.args["group_query_attention"] = ItemValue::boolean(false);
  step.args["num_query_groups"] = whole(1);
  put(step);
  EXPECT_THAT(planned().status().message, HasSubstr("has 32 rows, its model makes it 48"));
}

TEST_F(MegatronArguments, RopeOfArgumentsIsRead) {
  Step step;
  step.args["use_rope_scaling"] = ItemValue::boolean(true);
  step.args["rope_scaling_factor"] = ItemValue::of(32.0);
  step.args["rotary_interleaved"] = ItemValue::boolean(true);
  put(step);
  const auto plan = planned();
  ASSERT_TRUE(plan.ok()) << plan.status().to_string();
  EXPECT_EQ(ckpt::setting(plan->config, "model.rope_scaling"), "\"llama3:32:1:4:8192\"");
  EXPECT_EQ(values(*plan, "layers.0.attention.wq.weight")[6], 1006);  // its rows stay
}

}  // namespace
}  // namespace titan::convert::megatron::arguments_test
