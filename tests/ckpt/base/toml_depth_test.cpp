#include "ckpt/base/toml_depth.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace titan::ckpt::toml_depth_test {
namespace {

std::string repeated(const std::string& part, unsigned count) {
  std::string text;
  for (unsigned i = 0; i < count; ++i) text += part;
  return text;
}

TEST(TomlDepth, RefusesKeysAndValuesThatNestTooDeepWithTheirLine) {
  for (const std::string& deep :
       {repeated("a.", 64) + "a = 1", "[" + repeated("a.", 64) + "a]", "[[" + repeated("a . ", 64) + "a]]",
        "x = { " + repeated("'b'.", 64) + "b = 1 }", "s = \"a\\\"\"\n" + repeated("a.", 64) + "a = 1",
        "s = '''it's \"\"\" '''\n" + repeated("\"a\".", 50'000) + "a = 1", "x = " + repeated("[", 65),
        "x = " + repeated("{a = [", 33) + "1"}) {
    const Status status = check_toml_depth("# first line\n" + deep, "run.toml");
    EXPECT_EQ(status.code, Code::kInvalid) << deep;
    EXPECT_THAT(status.message, ::testing::MatchesRegex("run\\.toml:[23]: .*more than 64 .*")) << deep;
  }
}

TEST(TomlDepth, LeavesDotsAndBracketsInStringsAndCommentsAlone) {
  const std::string dots = repeated("a.", 100), brackets = repeated("[", 100);
  for (const std::string& fine :
       {repeated("a.", 63) + "a = 1\n" + repeated("b.", 63) + "b = 2", "x = \"" + dots + brackets + "\"",
        "x = '" + dots + "\\'", "x = \"\"\"" + dots + "\n" + dots + "\"\" " + dots + "\"\"\"\"",
        "x = '''" + dots + "'' " + brackets + "'''", "# " + dots + brackets,
        "x = " + repeated("[", 64) + repeated("]", 64), "x = [" + repeated("1.5, ", 200) + "]",
        std::string("x = \"no end"), std::string()}) {
    const Status status = check_toml_depth(fine, "run.toml");
    EXPECT_TRUE(status.ok()) << fine << ": " << status.message;
  }
}

}  // namespace
}  // namespace titan::ckpt::toml_depth_test
