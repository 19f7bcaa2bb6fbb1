#include "ckpt/ops/weighted_sum.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

namespace titan::ckpt::weighted_sum_test {
namespace {

template <typename T>
std::vector<std::byte> bytes_of(std::initializer_list<T> values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.begin(), bytes.size());
  return bytes;
}

template <typename T>
std::vector<T> rounded(const std::vector<double>& sums, DType dtype) {
  std::vector<T> out(sums.size());
  round_sums(sums, dtype, std::as_writable_bytes(std::span(out)));
  return out;
}

TEST(WeightedSum, AddsInDoublePrecisionAndRoundsOnce) {
  // In fp32 each of the small ones would be lost beside 1.
  const float small = std::ldexp(1.0f, -25);
  std::vector<double> sums(1);
  add_weighted(DType::kF32, bytes_of<float>({1}), 1, true, sums);
  for (int i = 0; i < 4; ++i) add_weighted(DType::kF32, bytes_of<float>({small}), 1, false, sums);
  EXPECT_EQ(rounded<float>(sums, DType::kF32)[0], 1 + std::ldexp(1.0f, -23));
}

TEST(WeightedSum, TheFirstTakesThePlaceOfWhatWasThere) {
  std::vector<double> sums{5, std::numeric_limits<double>::quiet_NaN()};
  add_weighted(DType::kF32, bytes_of<float>({2, -0.0f}), 0.5, true, sums);
  EXPECT_EQ(sums[0], 1);
  EXPECT_TRUE(std::signbit(sums[1])) << "the sign of a zero stays";
}

TEST(WeightedSum, KnowsTheOtherTypes) {
  std::vector<double> sums(2);
  add_weighted(DType::kBF16, bytes_of<std::uint16_t>({0x3f80, 0xc000}), 0.5, true, sums);  // 1, -2
  EXPECT_EQ(sums, (std::vector<double>{0.5, -1}));
  add_weighted(DType::kF16, bytes_of<std::uint16_t>({0x3c00, 0x4000}), 1, false, sums);  // 1, 2
  EXPECT_EQ(sums, (std::vector<double>{1.5, 1}));
  add_weighted(DType::kF64, bytes_of<double>({0.125, 1e300}), 1, false, sums);
  EXPECT_EQ(sums, (std::vector<double>{1.625, 1e300}));
  EXPECT_EQ(rounded<double>(sums, DType::kF64), sums);
  // Between two bfloat16 the even one: 1 + 2^-8 lies in the middle of 1 and 1 + 2^-7; a bit more goes up.
  EXPECT_EQ(rounded<std::uint16_t>({1 + 0x1p-8, 1 + 0x1p-8 + 0x1p-50}, DType::kBF16),
            (std::vector<std::uint16_t>{0x3f80, 0x3f81}));
}

}  // namespace
}  // namespace titan::ckpt::weighted_sum_test
