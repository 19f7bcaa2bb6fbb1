#include "recipe/plan/parameter_rules.h"

#include <gmock/gmock.h>

#include "recipe/plan/run_plan.h"
#include "tests/recipe/support/config_support.h"

namespace titan::recipe::parameter_rules_test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(ParameterRules, APatternIsOfTheWholeName) {
  for (const char* pattern : {"*", "*norm*", "layers.*", "*.weight", "layers.0.ffn_norm.weight", "*0*norm*t", "**"})
    EXPECT_TRUE(fits(pattern, "layers.0.ffn_norm.weight")) << pattern;
  for (const char* pattern : {"", "norm", "*norm", "layers.1*", "*.weight.*", "*norm*norm*", "layers.0.ffn_norm.weigh"})
    EXPECT_FALSE(fits(pattern, "layers.0.ffn_norm.weight")) << pattern;
  EXPECT_TRUE(fits("", ""));
  EXPECT_TRUE(fits("*a*ab", "aaab")) << "a star takes more where it has to";
}

TEST(ParameterRules, AreReadInAnyOrderAndStoredInOne) {
  const auto rules = parse_rules({"lr_factor=0.5  pattern=*norm* weight_decay=0", "output.weight lr_factor=2"});
  ASSERT_TRUE(rules.ok()) << rules.status().to_string();
  EXPECT_THAT(rule_words(*rules), ElementsAre("*norm* weight_decay=0.0 lr_factor=0.5", "output.weight lr_factor=2.0"));
  for (const auto& [bad, why] : std::vector<std::pair<const char*, const char*>>{
           {"*norm*", "it sets nothing"},
           {"weight_decay=0", "it has no pattern"},
           {"a b lr_factor=1", "it has two patterns"},
           {"a wd=0", "unknown word \"wd\""},
           {"a weight_decay=x", "expected a number from 0 to 1000000 as weight_decay, found \"x\""},
           {"a weight_decay=-1", "expected a number from 0"},
           {"a weight_decay=nan", "expected a number from 0"},
           {"a lr_factor=1 lr_factor=2", "lr_factor is there twice"}})
    EXPECT_THAT(parse_rules({bad}).status().message, HasSubstr(why)) << bad;
}

TEST(ParameterRules, TheFirstThatFitsDecides) {
  const LoadedConfig loaded = load_ok(
      "[optimizer]\nweight_decay = 0.25\n[[optimizer.rules]]\npattern = \"layers.0.*norm*\"\nlr_factor = 0.5\n"
      "[[optimizer.rules]]\npattern = \"*norm*\"\nweight_decay = 0\n",
      {});
  const auto plan = make_run_plan(loaded.config, 1);
  ASSERT_TRUE(plan.ok()) << plan.status().to_string();
  for (std::size_t i = 0; i < plan->parameters.size(); ++i) {
    const std::string& name = plan->parameters[i].name;
    const bool norm = name.find("norm") != std::string::npos, first = name.starts_with("layers.0.");
    const UpdateSettings expected = norm && first ? UpdateSettings{0.25, 0.5}
                                    : norm        ? UpdateSettings{0, 1}
                                                  : UpdateSettings{0.25, 1};
    EXPECT_EQ(plan->updates[i], expected) << name;
  }
}

TEST(ParameterRules, ARuleThatDoesNothingIsNamed) {
  std::vector<std::string> warnings;
  const std::vector<std::string> words = {"*bias* weight_decay=0", "* lr_factor=1", "*norm* weight_decay=0"};
  ASSERT_TRUE(update_settings(0.1, words, {{"norm.weight", {4}}}, warnings).ok());
  EXPECT_THAT(warnings, ElementsAre(HasSubstr("\"*bias*\" is in force for no parameter"), HasSubstr("\"*norm*\"")));
  const auto plan = make_run_plan(load_ok("", {"--optimizer.rules=*nrm* weight_decay=0"}).config, 1);
  ASSERT_TRUE(plan.ok()) << plan.status().to_string();
  EXPECT_THAT(plan->warnings, Contains(HasSubstr("\"*nrm*\"")));
}

}  // namespace
}  // namespace titan::recipe::parameter_rules_test
