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
  EXPECT_EQ(parse_rope_scaling("yarn:4").status().code, ckpt::Code::kUnsupported);
}

}  // namespace
}  // namespace titan::recipe::rope_scaling_test
