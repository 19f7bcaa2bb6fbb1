#include "ckpt/ops/convert_dtype.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "ckpt/ops/element.h"

namespace titan::ckpt::convert_dtype_test {
namespace {

template <typename T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

template <typename T>
std::uint16_t to_bf16(DType from, T value, RoundingError* error = nullptr) {
  std::vector<std::byte> out(2);
  const RoundingError made = convert_elements(from, bytes_of(std::vector<T>{value}), DType::kBF16, out);
  if (error != nullptr) *error = made;
  std::uint16_t bits;
  std::memcpy(&bits, out.data(), 2);
  return bits;
}

float float_of(std::uint32_t bits) { return std::bit_cast<float>(bits); }

TEST(ConvertElements, RoundsFloatsToNearestWithTiesToEven) {
  struct {
    std::uint32_t from;
    std::uint16_t to;
  } const cases[] = {
      {0x3F800000, 0x3F80},                        // 1
      {0x3F807FFF, 0x3F80}, {0x3F808000, 0x3F80},  // below a tie; a tie, even below
      {0x3F808001, 0x3F81}, {0x3F818000, 0x3F82},  // above a tie; a tie, even above
      {0xBF818000, 0xBF82}, {0x80000000, 0x8000},  // signs
      {0x00008000, 0x0000}, {0x00008001, 0x0001},  // denormals
      {0x7F7F7FFF, 0x7F7F}, {0x7F7F8000, 0x7F80},  // the largest that stays finite; the smallest that does not
      {0x7F800000, 0x7F80}, {0xFF800000, 0xFF80},  // infinity
  };
  for (const auto& c : cases) EXPECT_EQ(to_bf16(DType::kF32, float_of(c.from)), c.to) << std::hex << c.from;
  for (const std::uint32_t nan : {0x7FC00000u, 0x7F800001u, 0xFFFFFFFFu}) {
    const std::uint16_t bits = to_bf16(DType::kF32, float_of(nan));
    EXPECT_TRUE(std::isnan(float_of(static_cast<std::uint32_t>(bits) << 16))) << std::hex << nan;
    EXPECT_EQ(bits >> 15, nan >> 31);
  }
}

// A double just above a tie of bfloat16 rounds to the tie as a float: rounding twice would go down.
TEST(ConvertElements, RoundsDoublesOnce) {
  const double tie = 1.0 + 1.0 / 256, above = tie + std::ldexp(1, -40), below = tie - std::ldexp(1, -40);
  EXPECT_EQ(to_bf16(DType::kF64, tie), 0x3F80);
  EXPECT_EQ(to_bf16(DType::kF64, above), 0x3F81);
  EXPECT_EQ(to_bf16(DType::kF64, -above), 0xBF81);
  EXPECT_EQ(to_bf16(DType::kF64, below), 0x3F80);
}

TEST(ConvertElements, ReportsTheLargestErrorWhereItIs) {
  const std::vector<float> values{1.0f, float_of(0x3F807000), float_of(0x43807000), float_of(0x7F7F8000), 2.0f};
  std::vector<std::byte> out(values.size() * 2);
  const RoundingError error = convert_elements(DType::kF32, bytes_of(values), DType::kBF16, out);
  EXPECT_EQ(error.rounded, 3u);
  EXPECT_EQ(error.overflowed, 1u);
  EXPECT_EQ(error.at, 2u);
  EXPECT_EQ(error.largest, std::fabs(static_cast<double>(values[2]) - element_value(DType::kBF16, out.data() + 4)));
}

TEST(ConvertElements, OfEqualErrorsTheFirstIsReported) {
  const float off = float_of(0x3F804000);  // a quarter above 1, in units of bfloat16
  const std::vector<float> values{1.0f, off, -off, off};
  std::vector<std::byte> out(values.size() * 2);
  const RoundingError error = convert_elements(DType::kF32, bytes_of(values), DType::kBF16, out);
  EXPECT_EQ(error.rounded, 3u);
  EXPECT_EQ(error.at, 1u);
}

TEST(ConvertElements, WideningIsExactAndComesBack) {
  constexpr unsigned kSeed = 20;
  SCOPED_TRACE(kSeed);
  std::mt19937 random(kSeed);
  std::vector<std::uint16_t> values(70'000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::uint16_t>(i < 65536 ? i : random());
  std::vector<std::byte> wide(values.size() * 4), back(values.size() * 2);
  for (const DType half : {DType::kBF16, DType::kF16}) {
    const RoundingError error = convert_elements(half, bytes_of(values), DType::kF32, wide);
    EXPECT_EQ(error.rounded, 0u);
    EXPECT_EQ(error.largest, 0);
  }
  convert_elements(DType::kBF16, bytes_of(values), DType::kF32, wide);
  EXPECT_EQ(convert_elements(DType::kF32, wide, DType::kBF16, back).rounded, 0u);
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::uint16_t bits;
    std::memcpy(&bits, back.data() + 2 * i, 2);
    const bool nan = (values[i] & 0x7F80) == 0x7F80 && (values[i] & 0x7F) != 0;
    ASSERT_EQ(bits, nan ? values[i] | 0x40 : values[i]) << i;
  }
}

}  // namespace
}  // namespace titan::ckpt::convert_dtype_test
