#include "converters/megatron/file_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/converters/megatron/folder.h"

namespace titan::convert::megatron::file_rules_test {
namespace {

using ckpt::Code;
using ::testing::Contains;
using ::testing::HasSubstr;
using testing::Step;

class MegatronRules : public testing::MegatronFolder {};

TEST_F(MegatronRules, ActOnTheNamesInTheFile) {
  Step step;
  step.masters = true;
  step.more = {{"decoder.layers.7.teacher.weight", {3}, {}},
               {"optimizer.state.exp_avg.decoder.layers.7.teacher.weight", {3}, {}}};
  put(step);
  EXPECT_EQ(planned().status().code, Code::kIncompatible) << "a tensor without a place";
  const auto skipped = planned({.skip = {"decoder.layers.7.*"}});
  ASSERT_TRUE(skipped.ok()) << skipped.status().to_string();
  EXPECT_THAT(skipped->left_out, Contains("optimizer.state.exp_avg.decoder.layers.7.teacher.weight"));
  EXPECT_EQ(skipped->optimizer_steps.size(), skipped->parameters.size());
  const auto alone = planned({.skip = {"decoder.layers.7.*", "optimizer.*"}});
  ASSERT_TRUE(alone.ok()) << alone.status().to_string();
  EXPECT_TRUE(alone->optimizer_steps.empty());
  EXPECT_EQ(values(*alone, "norm.weight"), values(*skipped, "norm.weight")) << "a master is no state";
  EXPECT_EQ(planned({.skip = {"decoder.layers.7.*", "nothing.*"}}).status().code, Code::kInvalid);
}

TEST_F(MegatronRules, ARenameInTheFileLeadsToAFusedProjection) {
  Step step;
  step.stacked = false;
  put(step);
  const auto plain = planned();
  ASSERT_TRUE(plain.ok()) << plain.status().to_string();
  std::map<std::string, std::vector<float>> expected;
  for (const char* name : {"layers.1.attention.wk.weight", "layers.0.feed_forward.w3.weight", "norm.weight"})
    expected[name] = values(*plain, name, "exp_avg");
  fs_ = ckpt::testing::MemFs();
  step.rename = "student.";
  put(step);
  EXPECT_FALSE(planned().ok());
  ImportOptions options;
  options.rules.rename = {{"student.decoder.layers.*.*.*.weight", "decoder.layers.*.*.*.weight"},
                          {"student.decoder.layers.*.*.weight", "decoder.layers.*.*.weight"},
                          {"student.*.*.weight", "*.*.weight"},
                          {"student.*.weight", "*.weight"}};
  const auto renamed = planned(options);
  ASSERT_TRUE(renamed.ok()) << renamed.status().to_string();
  for (const auto& [name, elements] : expected) EXPECT_EQ(values(*renamed, name, "exp_avg"), elements) << name;
  options.rules.rename.push_back({"teacher.*.weight", "*.weight"});
  EXPECT_EQ(planned(options).status().code, Code::kIncompatible) << "a rule that matches nothing";
}

TEST_F(MegatronRules, TwoTensorsForOneParameterAreNamedAsTheFileHasThem) {
  Step step;
  step.more = {{"decoder.layers.0.input_layernorm.weight", {6}, {}}};
  put(step);
  const Status status = planned().status();
  EXPECT_EQ(status.code, Code::kIncompatible);
  EXPECT_THAT(status.hint, HasSubstr("--skip 'decoder.layers.0.self_attention.linear_qkv.layer_norm_weight'"));
  EXPECT_THAT(status.hint, HasSubstr("--skip 'decoder.layers.0.input_layernorm.weight'"));
  EXPECT_TRUE(planned({.skip = {"decoder.layers.0.input_layernorm.weight"}}).ok()) << "what the hint says";
}

}  // namespace
}  // namespace titan::convert::megatron::file_rules_test
