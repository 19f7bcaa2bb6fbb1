#include "recipe/keys/writer.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include <gmock/gmock.h>

#include "tests/recipe/support/config_support.h"

namespace titan::recipe {
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

TEST(Writer, FullTomlOnDiskIsWhatTheKeyTableSays) {
  const std::string path = std::string(TITAN_SOURCE_DIR) + "/configs/full.toml";
  if (std::getenv("TITAN_UPDATE_GOLDEN")) std::ofstream(path, std::ios::binary) << full_toml();
  std::ifstream file(path, std::ios::binary);
  const std::string disk{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(disk, full_toml()) << "regenerate with TITAN_UPDATE_GOLDEN=1";
}

TEST(Writer, FullTomlLoadsToTheDefaults) {
  EXPECT_EQ(resolved_settings(load_ok(full_toml()).config), resolved_settings(Config{}));
}

TEST(Writer, FullTomlNamesEveryKey) {
  const std::string text = full_toml();
  for (const Key& key : key_table()) {
    const std::string leaf = key.slot ? key.name.substr(key.name.find('.') + 1) + " =" : key.name + "  ";
    EXPECT_THAT(text, HasSubstr(leaf)) << key.name;
  }
}

TEST(Writer, TheResolvedConfigurationLoadsToItself) {
  const LoadedConfig loaded = load_ok(kText, {"--debug.seed=9"});
  const ckpt::Settings settings = resolved_settings(loaded.config);
  EXPECT_EQ(resolved_settings(load_ok(config_toml(loaded.config)).config), settings);
  EXPECT_EQ(resolved_settings(load_ok(describe_config(loaded)).config), settings);
  EXPECT_TRUE(std::ranges::is_sorted(settings));
  EXPECT_THAT(settings, testing::Contains(testing::Pair("optimizer.lr", "0.1")));
  EXPECT_THAT(settings, testing::Contains(testing::Pair("optimizer.weight_decay", "3.0")));
  EXPECT_THAT(settings, testing::Contains(testing::Pair("lr_scheduler.decay_ratio", "0.30000000000000004")));
  EXPECT_THAT(settings, testing::Not(testing::Contains(testing::Key("model.dim"))));
}

TEST(Writer, DescribesEveryValueWithItsOrigin) {
  const std::string text = describe_config(load_ok(kText, {"--debug.seed=9"}));
  EXPECT_THAT(text, HasSubstr("\nlr = 0.1  # run.toml:4:6\n"));
  EXPECT_THAT(text, HasSubstr("\nseed = 9  # flag --debug.seed\n"));
  EXPECT_THAT(text, HasSubstr("\nbeta1 = 0.9  # default\n"));
  EXPECT_THAT(text, HasSubstr("\n# total_steps =  # default\n"));
}

TEST(Writer, AnOriginWithANewlineCannotSmuggleInAKey) {
  const Result<LoadedConfig> loaded = load_config_text("[training]\nsteps = 3\n", "x\nseq_len = 9\n.toml");
  ASSERT_TRUE(loaded.ok());
  const LoadedConfig again = load_ok(describe_config(*loaded));
  EXPECT_EQ(again.config.training.seq_len, 2048);
}

TEST(Writer, JsonHasValueClassAndOrigin) {
  const std::string json = describe_config_json(load_ok(kText, {"--debug.seed=9"}));
  EXPECT_THAT(json, HasSubstr("\"schema\":\"titan.config/1\""));
  EXPECT_THAT(json, HasSubstr("{\"key\":\"optimizer.lr\",\"value\":0.1,\"class\":\"curve\",\"origin\":\"file\","
                              "\"source\":\"run.toml\",\"line\":4,\"column\":6}"));
  EXPECT_THAT(json, HasSubstr("{\"key\":\"debug.seed\",\"value\":9,\"class\":\"curve\",\"origin\":\"flag\","
                              "\"source\":\"--debug.seed\"}"));
  EXPECT_THAT(json, HasSubstr("{\"key\":\"model.dim\",\"value\":null,\"class\":\"curve\",\"origin\":\"default\"}"));
  EXPECT_THAT(json, HasSubstr("\"value\":\"a \\\"b\\\"\\t\\\\ \\u0001 é\""));
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
}  // namespace titan::recipe
