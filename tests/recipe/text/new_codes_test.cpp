#include "recipe/text/new_codes.h"

#include <gtest/gtest.h>

namespace titan::recipe::new_codes_test {
namespace {

std::uint64_t count(const char* category) {
  std::uint64_t codes = 0;
  for (const CodeRange& range : new_codes(category)) codes += range.last - range.first + 1;
  return codes;
}

TEST(NewCodes, AreThoseThatCameSinceUnicode14) {
  // Unicode 16.0 has 141,028 letters and 1,911 numbers, Unicode 14.0 131,756 and 1,791.
  EXPECT_EQ(count("L"), 141028u - 131756u);
  EXPECT_EQ(count("N"), 1911u - 1791u);
  EXPECT_EQ(count("P"), 36u);
  EXPECT_EQ(count("S"), 773u);
  EXPECT_EQ(new_codes("L").front(), (CodeRange{0x1c89, 0x1c8a})) << "neighbours of two cases are one range";
  EXPECT_EQ(new_codes("Lu").front(), (CodeRange{0x1c89, 0x1c89}));
}

TEST(NewCodes, Contains) {
  const std::vector<CodeRange> ranges = {{5, 7}, {9, 9}};
  for (const std::uint32_t code : {5u, 7u, 9u}) EXPECT_TRUE(contains(ranges, code)) << code;
  for (const std::uint32_t code : {0u, 4u, 8u, 10u}) EXPECT_FALSE(contains(ranges, code)) << code;
  EXPECT_FALSE(contains({}, 1));
}

}  // namespace
}  // namespace titan::recipe::new_codes_test
