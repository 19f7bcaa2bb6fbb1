#include "ckpt/ops/tensor_stats.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "ckpt/ops/element.h"

namespace titan::ckpt::tensor_stats_test {
namespace {

template <typename T>
TensorStats of(DType dtype, const std::vector<T>& values) {
  return stats_of(dtype, std::as_bytes(std::span(values)));
}

constexpr float kInf = std::numeric_limits<float>::infinity();

TEST(TensorStats, IsExactOnSmallIntegers) {
  const TensorStats s = of<float>(DType::kF32, {1, -2, 3, 0, 4});
  EXPECT_EQ(s.elements, 5u);
  EXPECT_EQ(s.zeros, 1u);
  EXPECT_EQ(s.min, -2);
  EXPECT_EQ(s.max, 4);
  EXPECT_DOUBLE_EQ(s.mean, 1.2);
  EXPECT_DOUBLE_EQ(s.m2, 30 - 5 * 1.2 * 1.2);
  EXPECT_EQ(s.sum_squares, 30);
  EXPECT_DOUBLE_EQ(s.std(), std::sqrt(4.56));
  EXPECT_DOUBLE_EQ(s.norm(), std::sqrt(30.0));
}

TEST(TensorStats, LeavesNonFiniteElementsOutOfEverythingElse) {
  const TensorStats s = of<float>(DType::kF32, {kInf, NAN, 2, -kInf, 4, NAN, -0.0f});
  EXPECT_EQ(s.nans, 2u);
  EXPECT_EQ(s.infinities, 2u);
  EXPECT_EQ(s.non_finite(), 4u);
  EXPECT_EQ(s.finite(), 3u);
  EXPECT_EQ(s.zeros, 1u);
  EXPECT_EQ(s.min, 0);
  EXPECT_EQ(s.max, 4);
  EXPECT_DOUBLE_EQ(s.mean, 2);
  EXPECT_EQ(s.sum_squares, 20);
}

TEST(TensorStats, KnowsNothingWithoutAFiniteElement) {
  for (const std::vector<float>& values : {std::vector<float>{}, std::vector<float>{NAN, kInf}}) {
    const TensorStats s = of(DType::kF32, values);
    EXPECT_EQ(s.finite(), 0u);
    EXPECT_EQ(s.min, 0);
    EXPECT_EQ(s.std(), 0);
    EXPECT_EQ(s.norm(), 0);
  }
}

TEST(TensorStats, GivesAConstantTensorNoDeviation) {
  const TensorStats s = of(DType::kF32, std::vector<float>(5000, 0.1f));
  EXPECT_EQ(s.mean, static_cast<double>(0.1f));
  EXPECT_EQ(s.m2, 0);
}

// Every position of a vector, a lane, a block; every dtype; against the plain sum over element_value().
TEST(TensorStats, AgreesWithAPlainLoopForEveryDtypeAndLength) {
  constexpr std::uint64_t kSeed = 77;
  RecordProperty("seed", std::to_string(kSeed));
  std::mt19937_64 random(kSeed);
  for (const DType dtype :
       {DType::kF32, DType::kBF16, DType::kF16, DType::kF64, DType::kI64, DType::kI32, DType::kU8}) {
    const std::size_t size = dtype_size(dtype);
    for (const std::size_t count : {1u, 7u, 8u, 9u, 511u, 512u, 513u, 1537u}) {
      std::vector<std::byte> bytes(count * size);
      for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
      // Random bits of large exponents would overflow every sum: the top exponent bits are cleared, but for some
      // elements.
      for (std::size_t i = 0; i < count && dtype != DType::kU8; ++i)
        if (random() % 100 != 0) bytes[i * size + size - 1] &= std::byte{0xbf};
      SCOPED_TRACE(std::string(dtype_name(dtype)) + " x " + std::to_string(count));
      std::uint64_t nans = 0, infinities = 0, zeros = 0;
      double low = INFINITY, high = -INFINITY;
      for (std::size_t i = 0; i < count; ++i) {
        const double x = element_value(dtype, bytes.data() + i * size);
        nans += std::isnan(x);
        infinities += std::isinf(x);
        if (!std::isfinite(x)) continue;
        zeros += x == 0;
        low = std::min(low, x);
        high = std::max(high, x);
      }
      const TensorStats s = stats_of(dtype, bytes);
      EXPECT_EQ(s.elements, count);
      EXPECT_EQ(s.nans, nans);
      EXPECT_EQ(s.infinities, infinities);
      EXPECT_EQ(s.zeros, zeros);
      if (s.finite() == 0) continue;
      EXPECT_EQ(s.min, low);
      EXPECT_EQ(s.max, high);
    }
  }
}

TEST(TensorStats, MeasuresMeanDeviationAndNormOfRandomValues) {
  std::mt19937_64 random(5);
  std::normal_distribution<double> normal(3, 0.5);
  std::vector<float> values(100'003);
  double sum = 0, squares = 0, m2 = 0;
  for (float& value : values) value = static_cast<float>(normal(random));
  for (const float value : values) sum += value, squares += double{value} * value;
  const double mean = sum / static_cast<double>(values.size());
  for (const float value : values) m2 += (value - mean) * (value - mean);
  const TensorStats s = of(DType::kF32, values);
  EXPECT_NEAR(s.mean, mean, 1e-12);
  EXPECT_NEAR(s.m2 / m2, 1, 1e-12);
  EXPECT_NEAR(s.sum_squares / squares, 1, 1e-12);
}

TEST(MergeStats, APartWithoutAFiniteElementAddsCountsAndNothingElse) {
  const TensorStats some = of<float>(DType::kF32, {1, 2}), none = of<float>(DType::kF32, {NAN, kInf, -kInf});
  for (const bool first : {false, true}) {
    TensorStats merged = first ? none : some;
    merge_stats(merged, first ? some : none);
    EXPECT_EQ(merged.elements, 5u);
    EXPECT_EQ(merged.nans, 1u);
    EXPECT_EQ(merged.infinities, 2u);
    EXPECT_EQ(merged.min, 1);
    EXPECT_EQ(merged.max, 2);
    EXPECT_EQ(merged.mean, 1.5);
    EXPECT_EQ(merged.m2, 0.5);
    EXPECT_EQ(merged.sum_squares, 5);
  }
  TensorStats nothing = none;
  merge_stats(nothing, none);
  EXPECT_EQ(nothing.finite(), 0u);
  EXPECT_EQ(nothing.mean, 0);
}

TEST(MergeStats, OfPartsIsThatOfTheWhole) {
  std::mt19937_64 random(6);
  std::vector<double> values(2000);
  for (double& value : values) value = static_cast<double>(random() % 1000) - 500;
  values[700] = NAN;
  const TensorStats whole = of(DType::kF64, values);
  for (const std::size_t cut : {0u, 1u, 512u, 1999u, 2000u}) {
    TensorStats merged;
    const auto part = [&](std::size_t begin, std::size_t end) {
      return stats_of(DType::kF64, std::as_bytes(std::span(values).subspan(begin, end - begin)));
    };
    merge_stats(merged, part(0, cut));
    merge_stats(merged, part(cut, values.size()));
    EXPECT_EQ(merged.elements, whole.elements);
    EXPECT_EQ(merged.nans, 1u);
    EXPECT_EQ(merged.zeros, whole.zeros);
    EXPECT_EQ(merged.min, whole.min);
    EXPECT_EQ(merged.max, whole.max);
    EXPECT_EQ(merged.sum_squares, whole.sum_squares);  // integers: exact
    EXPECT_NEAR(merged.mean, whole.mean, 1e-10);
    EXPECT_NEAR(merged.m2 / whole.m2, 1, 1e-12);
  }
}

}  // namespace
}  // namespace titan::ckpt::tensor_stats_test
