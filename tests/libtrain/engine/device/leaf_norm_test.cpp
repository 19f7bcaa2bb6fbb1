#include "libtrain/engine/device/leaf_norm.h"

#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "tests/libtrain/support/tensors.h"

namespace titan::train::leaf_norm_test {
namespace {

using namespace titan::test;

TEST(LeafSumOfSquares, AddsSixteenLanesAsATree) {
  for (const std::int64_t count : {0, 1, 15, 16, 17, 1024, 1027}) {
    const std::vector<float> x = floats(random_tensor(count, 9));
    double lanes[16] = {};
    for (std::int64_t i = 0; i < count; ++i) lanes[i % 16] += static_cast<double>(x[i]) * x[i];
    for (int half = 8; half >= 1; half /= 2)
      for (int k = 0; k < half; ++k) lanes[k] += lanes[k + half];
    EXPECT_EQ(leaf_sum_of_squares(x.data(), count), lanes[0]) << count;
    EXPECT_EQ(leaf_power_sum(x.data(), count, 2, 0), lanes[0]) << count;
    EXPECT_NEAR(lanes[0], std::inner_product(x.begin(), x.end(), x.begin(), 0.0), 1e-3);
  }
}

TEST(LeafSumOfSquares, DoesNotOverflowInFp32Range) {
  const std::vector<float> x(20, 3e38f);
  EXPECT_NEAR(leaf_sum_of_squares(x.data(), 20) / (20 * 9e76), 1, 1e-6);
}

TEST(LeafMax, IsTheLargestWithoutItsSign) {
  EXPECT_EQ(leaf_max(std::vector<float>{1, -3, 2}.data(), 3), 3);
  EXPECT_EQ(leaf_max(nullptr, 0), 0);
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(leaf_max(std::vector<float>{1, -inf, 2}.data(), 3), inf);
  EXPECT_TRUE(std::isnan(leaf_max(std::vector<float>{1, nan, inf}.data(), 3)));
}

TEST(LeafPowerSum, DividesFirstSoThatNothingOverflowsOrVanishes) {
  for (const float size : {1e30f, 1.f, 1e-30f}) {
    const std::vector<float> x(20, -size);
    const int exponent = norm_exponent(leaf_max(x.data(), 20));
    for (int p = 1; p <= 16; ++p) {
      const double sum = leaf_power_sum(x.data(), 20, p, exponent);
      EXPECT_NEAR(std::ldexp(std::pow(sum / 20, 1.0 / p), exponent) / size, 1, 1e-12) << size << ", p " << p;
    }
  }
}

TEST(NormExponent, IsThatOfThePowerOfTwoBelow) {
  EXPECT_EQ(norm_exponent(1), 0);
  EXPECT_EQ(norm_exponent(7.9), 2);
  EXPECT_EQ(norm_exponent(0.3), -2);
  EXPECT_EQ(norm_exponent(0), 0);
  EXPECT_EQ(norm_exponent(INFINITY), 0);
  EXPECT_EQ(norm_exponent(NAN), 0);
}

}  // namespace
}  // namespace titan::train::leaf_norm_test
