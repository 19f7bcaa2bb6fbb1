#include "ckpt/base/printed.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace titan::ckpt {
namespace {

TEST(Printed, TakesTheLengthThatIsNeeded) {
  EXPECT_EQ(printed("%.2f %s", 1.5, "x"), "1.50 x");
  EXPECT_EQ(printed("%0500d", 7).size(), 500u);
}

TEST(DigitsOf, AreReadBackAndHaveNoSignOfNan) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(digits_of(0.1f), "0.1");
  EXPECT_EQ(digits_of(0.1), "0.1");
  EXPECT_EQ(digits_of(std::int64_t{-7}), "-7");
  EXPECT_EQ(digits_of(-nan), "nan");
  EXPECT_EQ(digits_of(-infinity), "-inf");
}

}  // namespace
}  // namespace titan::ckpt
