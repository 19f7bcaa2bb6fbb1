#include "converters/skip.h"

#include <gtest/gtest.h>

namespace titan::convert {
namespace {

TEST(SkipRules, TakesNamesAndPatternsAcrossDots) {
  SkipRules rules({"*.q_norm.*", "lm_head.weight"});
  EXPECT_TRUE(rules.takes("model.layers.0.self_attn.q_norm.weight"));
  EXPECT_FALSE(rules.takes("model.norm.weight"));
  EXPECT_NE(rules.check_used("m").message.find("--skip 'lm_head.weight' matches no tensor of m"), std::string::npos);
  EXPECT_TRUE(rules.takes({"output.weight", "lm_head.weight"}));
  EXPECT_TRUE(rules.check_used("m").ok());
}

TEST(SkipRules, CountsEveryPatternThatMatchesAsUsed) {
  SkipRules rules({"*", "norm.*"});
  EXPECT_TRUE(rules.takes("norm.weight"));
  EXPECT_TRUE(rules.check_used("m").ok());
}

TEST(SkipRules, ANameWithBracketsStandsForItself) {
  SkipRules rules({"a[0]"});
  EXPECT_TRUE(rules.takes("a[0]"));
}

}  // namespace
}  // namespace titan::convert
