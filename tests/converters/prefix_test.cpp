#include "converters/prefix.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace titan::convert::prefix_test {
namespace {

using ::testing::HasSubstr;

std::string prefix(const std::vector<std::string>& names) {
  const auto found = prefix_of("/f", names);
  return found.ok() ? *found : found.status().to_string();
}

TEST(Prefix, IsWhatStandsBeforeTheLayers) {
  const std::string norm = "layers.3.input_layernorm.weight";
  EXPECT_EQ(prefix({"model." + norm}), "model.");
  EXPECT_EQ(prefix({"model.model." + norm, "model.lm_head.weight"}), "model.model.");
  EXPECT_EQ(prefix({"language_model.model." + norm, "vision_tower.layers.0.x"}), "language_model.model.");
  EXPECT_EQ(prefix({norm}), "");
  EXPECT_EQ(prefix({"ema." + norm, "model." + norm}), "model.") << "the usual one of several";
  EXPECT_EQ(prefix({"norm.weight", "my_layers.0.input_layernorm.weight"}), "model.");
  EXPECT_THAT(prefix({"a." + norm, "b." + norm}), HasSubstr("hint: leave all but one of them out: --skip 'b.*'"));
  EXPECT_THAT(prefix({"ema.model." + norm, "model.model." + norm}), HasSubstr("out: --skip 'ema.*'"))
      << "the model stays, and the average's head goes with it";
  EXPECT_THAT(prefix({"a.model." + norm, "a.x.model." + norm}), HasSubstr("out: --skip 'a.x.*'"));
}

TEST(Prefix, IsTakenOffWithWhatStandsBesideTheLayers) {
  for (const auto& [prefix, before] :
       std::vector<std::pair<std::string, std::string>>{{"model.model.", "model."}, {"a.model.", "a."}, {"a.", "a."}}) {
    EXPECT_EQ(after_prefix(prefix + "embed_tokens.weight", prefix), "model.embed_tokens.weight");
    EXPECT_EQ(after_prefix(before + "lm_head.weight", prefix), "lm_head.weight");
    EXPECT_EQ(after_prefix("else.weight", prefix), "else.weight");
  }
  EXPECT_EQ(after_prefix("norm.weight", ""), "model.norm.weight");
  EXPECT_EQ(after_prefix("lm_head.weight", ""), "lm_head.weight");
  EXPECT_EQ(after_prefix("model.norm.weight", "model."), "model.norm.weight");
}

}  // namespace
}  // namespace titan::convert::prefix_test
