#include "ckpt/base/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>

namespace titan::ckpt::text_test {
namespace {

using ::testing::ElementsAre;

TEST(Text, JoinsWords) {
  EXPECT_EQ(joined({}), "");
  EXPECT_EQ(joined({"a", "b"}), "a, b");
  EXPECT_EQ(joined({"", "a", ""}), ", a, ");
  EXPECT_EQ(joined({"a", "b", "c"}, " or "), "a or b or c");
}

TEST(Text, SplitsAtEverySeparator) {
  EXPECT_THAT(split("a,b", ','), ElementsAre("a", "b"));
  EXPECT_THAT(split(",a,", ','), ElementsAre("", "a", ""));
  EXPECT_THAT(split("", ','), ElementsAre(""));
}

TEST(Text, TrimsBlanksAtTheEndsAlone) {
  EXPECT_EQ(trimmed(" \ta b\t\r"), "a b");
  EXPECT_EQ(trimmed(" \t "), "");
  EXPECT_EQ(trimmed(""), "");
  EXPECT_EQ(trimmed("\n a"), "\n a");
}

TEST(Text, ReadsANumberFromItsFirstToItsLastCharacter) {
  EXPECT_EQ(number_of<std::uint64_t>("12"), 12u);
  EXPECT_EQ(number_of<double>("1e-5"), 1e-5);
  for (const char* text : {"", "12 ", " 12", "12a", "-1", "18446744073709551616"})
    EXPECT_EQ(number_of<std::uint64_t>(text), std::nullopt) << text;
}

TEST(Text, TakesBytesAsTheyAre) {
  const std::array bytes{std::byte{'a'}, std::byte{0}, std::byte{'b'}};
  EXPECT_EQ(text_of(bytes), std::string_view("a\0b", 3));
}

}  // namespace
}  // namespace titan::ckpt::text_test
