#include "recipe/keys/writer.h"

#include <algorithm>
#include <cstdlib>

#include <gmock/gmock.h>

#include "tests/recipe/support/config_support.h"

namespace titan::recipe::writer_test {
namespace {

using testing::HasSubstr;

const char* kText = R"([job]
dump_folder = "a \"b\"\t\\ \u0001 é"
[optimizer]
lr = 0.1
eps = 1e-12
weight_decay = 3
[training]
steps = 7
[lr_scheduler]
decay_ratio = 0.30000000000000004
)";

/// With the origin of each value, as `titan-train config` prints it.
std::string described(const LoadedConfig& loaded) {
  return config_toml(loaded.config, [&](const Key& key) { return loaded.origins.at(key.name).text(); });
}

TEST(Writer, TheResolvedConfigurationLoadsToItself) {
  const LoadedConfig loaded = load_ok(kText, {"--debug.seed=9"});
  const ckpt::Settings settings = resolved_settings(loaded.config);
  EXPECT_EQ(resolved_settings(load_ok(config_toml(loaded.config)).config), settings);
  EXPECT_EQ(resolved_settings(load_ok(described(loaded)).config), settings);
  EXPECT_TRUE(std::ranges::is_sorted(settings));
  EXPECT_THAT(settings, testing::Contains(testing::Pair("optimizer.lr", "0.1")));
  EXPECT_THAT(settings, testing::Contains(testing::Pair("optimizer.weight_decay", "3.0")));
  EXPECT_THAT(settings, testing::Contains(testing::Pair("lr_scheduler.decay_ratio", "0.30000000000000004")));
  EXPECT_THAT(settings, testing::Not(testing::Contains(testing::Key("model.dim"))));
}

TEST(Writer, DescribesEveryValueWithItsOrigin) {
  const std::string text = described(load_ok(kText, {"--debug.seed=9"}));
  EXPECT_THAT(text, HasSubstr("\nlr = 0.1  # run.toml:4:6\n"));
  EXPECT_THAT(text, HasSubstr("\nseed = 9  # flag --debug.seed\n"));
  EXPECT_THAT(text, HasSubstr("\nbeta1 = 0.9  # default\n"));
  EXPECT_THAT(text, HasSubstr("\n# total_steps =  # default\n"));
}

TEST(Writer, AnOriginWithANewlineCannotSmuggleInAKey) {
  const Result<LoadedConfig> loaded = load_config_text("[training]\nsteps = 3\n", "x\nseq_len = 9\n.toml");
  ASSERT_TRUE(loaded.ok());
  const LoadedConfig again = load_ok(described(*loaded));
  EXPECT_EQ(again.config.training.seq_len, 2048);
}

TEST(Value, FloatsAreShortestAndReadBack) {
  struct Case {
    double value;
    const char* text;
  };
  for (const Case& c : {Case{3e-4, "0.0003"},
                        {8e-4, "0.0008"},
                        {300, "300.0"},
                        {1e-8, "1e-08"},
                        {0, "0.0"},
                        {-0.0, "-0.0"},
                        {1e22, "1e+22"},
                        {0.1 + 0.2, "0.30000000000000004"},
                        {123456789012345, "123456789012345.0"}}) {
    EXPECT_EQ(toml_float(c.value), c.text);
    EXPECT_EQ(std::strtod(c.text, nullptr), c.value);
  }
}

}  // namespace
}  // namespace titan::recipe::writer_test
