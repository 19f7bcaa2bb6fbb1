#include "converters/skip_rules.h"

#include <gtest/gtest.h>

namespace titan::convert::skip_rules_test {
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

TEST(SkipFlags, TakeAsMuchAsTheyMayAndNothingElse) {
  const std::vector<std::string> kept{"norm.weight", "optimizer.state.norm.weight.exp_avg", "layers.0.ffn_norm.weight"};
  const auto flags = [&](std::vector<std::string> names) {
    std::vector<std::string> all = kept;
    all.insert(all.end(), names.begin(), names.end());
    return skip_flags(names, all);
  };
  EXPECT_EQ(flags({"ema.norm.weight", "ema.layers.0.ffn_norm.weight", "queue"}), "--skip 'ema.*' --skip 'queue'");
  EXPECT_EQ(flags({"optimizer.state.norm.weight.max_exp_avg_sq", "optimizer.state.x.max_exp_avg_sq"}),
            "--skip '*.max_exp_avg_sq'");
  EXPECT_EQ(flags({"layers.7.ffn_norm.weight"}), "--skip 'layers.7.ffn_norm.weight'");
  EXPECT_EQ(flags({"a", "b", "c", "d", "e", "f"}), "--skip 'a' --skip 'b' --skip 'c' --skip 'd' --skip 'e' and so on");
}

}  // namespace
}  // namespace titan::convert::skip_rules_test
