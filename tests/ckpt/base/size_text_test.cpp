#include "ckpt/base/size_text.h"

#include <gtest/gtest.h>

namespace titan::ckpt::size_text_test {
namespace {

TEST(SizeText, IsInTheUnitThatPeopleRead) {
  EXPECT_EQ(size_text(0), "0 B");
  EXPECT_EQ(size_text(1023), "1023 B");
  EXPECT_EQ(size_text(1024), "1.0 KiB");
  EXPECT_EQ(size_text(14'478'441), "13.8 MiB");
  EXPECT_EQ(size_text((std::uint64_t{1} << 20) - 1), "1.0 MiB") << "not 1024.0 KiB";
  EXPECT_EQ(size_text(~std::uint64_t{0}), "16.0 EiB");
}

TEST(ParseBytes, TakesDecimalAndBinaryUnitsAndNothingElse) {
  EXPECT_EQ(parse_bytes("5GB"), 5'000'000'000u);
  EXPECT_EQ(parse_bytes("512MiB"), 536'870'912u);
  EXPECT_EQ(parse_bytes("123"), 123u);
  for (const char* wrong : {"", "0", "GB", "5 GB", "5gb", "-1", "1.5GB", "99999999999TB", "5GBx"})
    EXPECT_EQ(parse_bytes(wrong), std::nullopt) << wrong;
}

}  // namespace
}  // namespace titan::ckpt::size_text_test
