#include "recipe/keys/interval.h"

#include <gtest/gtest.h>

#include "recipe/keys/loader.h"

namespace titan::recipe::interval_test {
namespace {

using Kind = SaveInterval::Kind;

TEST(SaveIntervalKey, TakesStepsTimesAndWords) {
  const auto of = [](const std::string& text) {
    const auto loaded = load_config_text("[checkpoint]\ninterval = " + text, "x.toml", {});
    EXPECT_TRUE(loaded.ok()) << text;
    return loaded.ok() ? loaded->config.checkpoint.interval : SaveInterval{};
  };
  EXPECT_EQ(of("7").known_steps(), 7u);
  EXPECT_EQ(of("\"10min\"").seconds, 600);
  EXPECT_EQ(of("\"30s\"").seconds, 30);
  EXPECT_EQ(of("\"2h\"").seconds, 7200);
  EXPECT_EQ(of("\"1d\"").seconds, 86400);
  EXPECT_EQ(of("\"10min\"").known_steps(), 0u);
  EXPECT_EQ(of("\"continuous\"").kind, Kind::kContinuous);
  EXPECT_EQ(of("\"auto\"").kind, Kind::kAuto);
  // A flag needs no quotes, and what is stored reads back.
  const auto flag = load_config_text("", "", {"--checkpoint.interval=10min"});
  ASSERT_TRUE(flag.ok());
  const Key& key = *find_key("checkpoint.interval");
  EXPECT_EQ(to_toml(*get_value(key, flag->config)), "\"10min\"");
  EXPECT_EQ(to_toml(*get_value(key, Config{})), "500");
}

TEST(SaveIntervalKey, RefusesTheRestAndSaysWhatWasMeant) {
  const auto refusal = [](const std::string& text) {
    return load_config_text("[checkpoint]\ninterval = " + text, "x.toml", {}).status().message;
  };
  const auto meant = [&](const std::string& text) {
    const std::string message = refusal(text);
    EXPECT_NE(message.find("checkpoint.interval: expected a number of steps of at least 1, a time such as \"10min\""),
              std::string::npos)
        << message;
    const std::size_t at = message.find("did you mean ");
    return at == std::string::npos ? "" : message.substr(at + 13, message.size() - at - 15);
  };
  EXPECT_EQ(meant("\"10 minutes\""), "\"10min\"");
  EXPECT_EQ(meant("\"10m\""), "\"10min\"");
  EXPECT_EQ(meant("\"2 hours\""), "\"2h\"");
  EXPECT_EQ(meant("\"continous\""), "\"continuous\"");
  EXPECT_EQ(meant("\"Auto\""), "\"auto\"");
  EXPECT_EQ(meant("\"500\""), "500");
  EXPECT_EQ(meant("\"500 steps\""), "500");
  for (const char* text : {"0", "-3", "\"0s\"", "\"-1h\"", "\"often\"", "\"99999999999h\"", "1.5", "true", "[]"})
    EXPECT_EQ(meant(text), "") << text;
}

}  // namespace
}  // namespace titan::recipe::interval_test
