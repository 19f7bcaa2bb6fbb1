#include "recipe/model/rope_scaling.h"

#include <gtest/gtest.h>

namespace titan::recipe::rope_scaling_test {
namespace {

TEST(RopeScaling, HasOneText) {
  for (const char* text : {"llama3:8:1:4:8192", "llama3:8.0:1.0:4.00:8192", "llama3:8e0:1:4:8192"})
    EXPECT_EQ(rope_scaling_text(*parse_rope_scaling(text)), "llama3:8:1:4:8192") << text;
  EXPECT_EQ(rope_scaling_text({2.5, 0.5, 4, 2048}), "llama3:2.5:0.5:4:2048");
}

TEST(RopeScaling, RefusesWhatCannotBeRead) {
  for (const char* text : {"", "llama3", "llama3:", "llama3:8:1:4", "llama3:8:1:4:8192:", "llama3:8:1:4:8192:1",
                           "llama3:8:1:4:8192.5", "llama3:8::4:8192", "llama3:8:1:4:nan", "llama3:0.5:1:4:8192",
                           "llama3:8:4:4:8192", "llama3:8:0:4:8192", "llama3:8:1:4:1e300", "llama2:8:1:4:8192"}) {
    const auto parsed = parse_rope_scaling(text);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_EQ(parsed.status().code, ckpt::Code::kInvalid) << text;
  }
}

TEST(RopeScaling, OfEachKindHasOneText) {
  const std::pair<const char*, const char*> cases[] = {
      {"linear:4.0", "linear:4"},
      {"dynamic:2:2048", "dynamic:2:2048"},
      {"yarn:4:32768", "yarn:4:32768:1.138629436111989:32:1:1"},
      {"yarn:40:4096:1", "yarn:40:4096:1:32:1:1"},
      {"yarn:32:4096:1.25:16:2:0", "yarn:32:4096:1.25:16:2:0"},
      {"longrope:32:4096:1.19:1,1.5:2,64.5", "longrope:32:4096:1.19:1,1.5:2,64.5"},
  };
  for (const auto& [text, one] : cases) {
    const auto scaling = parse_rope_scaling(text);
    ASSERT_TRUE(scaling.ok()) << text << ": " << scaling.status().message;
    EXPECT_EQ(rope_scaling_text(*scaling), one);
    EXPECT_EQ(*parse_rope_scaling(one), *scaling);
  }
  for (const char* text : {"linear", "linear:0.5", "linear:4:8192", "dynamic:2", "dynamic:2:0", "yarn:4", "yarn:4:64:0",
                           "yarn:4:64:1:1:2", "yarn:4:64:1:32:1:1:1", "longrope:2:64:1:1,2", "longrope:2:64:1:1,2:1",
                           "longrope:2:64:1:1,-2:1,2", "longrope:2:64:1::1", "longrope:2:64:1:1,x:1,2", "ntk:4"})
    EXPECT_EQ(parse_rope_scaling(text).status().code, ckpt::Code::kInvalid) << text;
}

TEST(RopeScaling, TakesAtMostAsManyFactorsAsALargeHeadHas) {
  RopeScaling scaling{.kind = RopeScaling::Kind::kLongrope};
  for (const std::size_t count : {4096, 4097}) {
    scaling.short_factors.assign(count, 1);
    scaling.long_factors.assign(count, 2);
    EXPECT_EQ(is_sound(scaling), count == 4096);
    EXPECT_EQ(read_rope_scaling(rope_scaling_text(scaling)).has_value(), count == 4096);
  }
}

TEST(RopeScaling, AttentionFactorsAreThePapers) {
  EXPECT_DOUBLE_EQ(yarn_attention(4), 1.138629436111989);
  EXPECT_DOUBLE_EQ(yarn_attention(32), 1.3465735902799727);
  EXPECT_DOUBLE_EQ(yarn_attention(40, 1, 1), 1);
  EXPECT_DOUBLE_EQ(yarn_attention(0.5), 1);
  EXPECT_DOUBLE_EQ(longrope_attention(131072.0 / 4096, 4096), 1.1902380714238083);
  EXPECT_DOUBLE_EQ(longrope_attention(1, 4096), 1);
}

TEST(RopeScaling, KnowsTheLengthItIsMadeFor) {
  EXPECT_EQ(scaled_length(*parse_rope_scaling("yarn:4:32768")), 131072);
  EXPECT_EQ(scaled_length(*parse_rope_scaling("dynamic:4:2048")), 2048);
  EXPECT_EQ(scaled_length(*parse_rope_scaling("linear:4")), 0);
}

}  // namespace
}  // namespace titan::recipe::rope_scaling_test
