#include "ckpt/base/galois.h"

#include <gtest/gtest.h>

#include <numeric>

namespace titan::ckpt::galois_test {
namespace {

TEST(Galois, EveryNumberTimesItsInverseIsOne) {
  EXPECT_EQ(galois_product(0x80, 2), 0x1D) << "the polynomial";
  for (int a = 1; a < 256; ++a) {
    const auto value = static_cast<std::uint8_t>(a);
    EXPECT_EQ(galois_product(value, galois_inverse(value)), 1) << a;
    EXPECT_EQ(galois_product(value, 3), galois_product(value, 2) ^ value);
  }
}

TEST(Galois, BlocksAreAddedAsByteByByte) {
  std::vector<std::byte> source(77);
  for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<std::byte>(i * 37 + 5);
  std::vector<std::uint8_t> factors(6);
  std::iota(factors.begin(), factors.end(), std::uint8_t{141});
  std::vector<std::vector<std::byte>> sums(6, std::vector<std::byte>(80, std::byte{9}));
  std::vector<std::span<std::byte>> targets(sums.begin(), sums.end());
  galois_add(source, factors, targets);
  for (std::size_t k = 0; k < 6; ++k) {
    for (std::size_t i = 0; i < source.size(); ++i)
      ASSERT_EQ(static_cast<int>(sums[k][i]), 9 ^ galois_product(static_cast<std::uint8_t>(source[i]), factors[k]))
          << k << ", " << i;
    EXPECT_EQ(sums[k][78], std::byte{9}) << "behind the source";
  }
}

// Whatever four of the first 132 columns are lost, four rows give them back.
TEST(Galois, EverySquarePartOfTheCauchyMatrixHasAnInverse) {
  for (std::uint32_t first = 0; first < 128; first += 7) {
    GaloisMatrix matrix(4);
    for (std::uint32_t row = 0; row < 4; ++row)
      for (const std::uint32_t column : {first, first + 1, (first + 64) % 128 + 2, 131u})
        matrix[row].push_back(cauchy(row, column));
    const auto inverse = galois_inverse(matrix);
    ASSERT_TRUE(inverse) << first;
    for (std::size_t i = 0; i < 4; ++i) {
      for (std::size_t j = 0; j < 4; ++j) {
        std::uint8_t sum = 0;
        for (std::size_t k = 0; k < 4; ++k)
          sum = static_cast<std::uint8_t>(sum ^ galois_product(matrix[i][k], (*inverse)[k][j]));
        EXPECT_EQ(sum, i == j ? 1 : 0);
      }
    }
  }
  EXPECT_FALSE(galois_inverse({{1, 2}, {1, 2}}));
}

}  // namespace
}  // namespace titan::ckpt::galois_test
