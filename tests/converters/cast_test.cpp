#include "converters/cast.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

namespace titan::convert::cast_test {
namespace {

using ckpt::DType;

template <typename To, typename From>
To cast_one(DType from, From value, DType to) {
  To out{};
  cast(from, std::as_bytes(std::span(&value, 1)), to, std::as_writable_bytes(std::span(&out, 1)));
  return out;
}

bool is_nan16(std::uint16_t bits, std::uint16_t exponent) {
  return (bits & exponent) == exponent && (bits & 0x7fff) != exponent;
}

TEST(Cast, WideningAndNarrowingGivesEveryShortNumberBack) {
  for (std::uint32_t i = 0; i < 65536; ++i) {
    const auto bits = static_cast<std::uint16_t>(i);
    const auto bf16 =
        cast_one<std::uint16_t>(DType::kF32, cast_one<float>(DType::kBF16, bits, DType::kF32), DType::kBF16);
    const auto f16 = cast_one<std::uint16_t>(DType::kF32, cast_one<float>(DType::kF16, bits, DType::kF32), DType::kF16);
    if (is_nan16(bits, 0x7f80))
      EXPECT_TRUE(is_nan16(bf16, 0x7f80)) << i;
    else
      EXPECT_EQ(bf16, bits);
    if (is_nan16(bits, 0x7c00))
      EXPECT_TRUE(is_nan16(f16, 0x7c00)) << i;
    else
      EXPECT_EQ(f16, bits);
  }
}

TEST(Cast, RoundsToNearestEven) {
  struct Case {
    float value;
    std::uint16_t bf16, f16;
  };
  const Case cases[] = {
      {1.0f, 0x3f80, 0x3c00},
      {-2.0f, 0xc000, 0xc000},
      {0x1.01p0f, 0x3f80, 0x3c04},      // half of bf16's last place: to even, down
      {0x1.03p0f, 0x3f82, 0x3c0c},      // to even, up
      {0x1.002p0f, 0x3f80, 0x3c00},     // half of f16's last place, down
      {0x1.006p0f, 0x3f80, 0x3c02},     // up
      {0x1.002002p0f, 0x3f80, 0x3c01},  // just above the half
      {65504.0f, 0x4780, 0x7bff},
      {65519.0f, 0x4780, 0x7bff},
      {65520.0f, 0x4780, 0x7c00},  // rounds to infinity
      {1e30f, 0x714a, 0x7c00},
      {0x1p-14f, 0x3880, 0x0400},      // f16's smallest normal number
      {0x1.ffcp-15f, 0x3880, 0x0400},  // rounds up into it
      {0x1p-24f, 0x3380, 0x0001},
      {0x1p-25f, 0x3300, 0x0000},  // half of the smallest: to even
      {0x1.8p-25f, 0x3340, 0x0001},
      {-0.0f, 0x8000, 0x8000},
      {std::numeric_limits<float>::infinity(), 0x7f80, 0x7c00},
      {std::numeric_limits<float>::max(), 0x7f80, 0x7c00},
  };
  for (const Case& c : cases) {
    EXPECT_EQ((cast_one<std::uint16_t>(DType::kF32, c.value, DType::kBF16)), c.bf16) << c.value;
    EXPECT_EQ((cast_one<std::uint16_t>(DType::kF32, c.value, DType::kF16)), c.f16) << c.value;
  }
  // A multiple of 2^-24 just below the normal numbers is exact.
  EXPECT_EQ((cast_one<std::uint16_t>(DType::kF32, 0x1.ff8p-15f, DType::kF16)), 0x03ff);
}

TEST(Cast, KeepsNanAndCopiesEqualTypes) {
  const float nan = std::bit_cast<float>(0x7f800001u);  // a payload that narrowing would lose
  EXPECT_TRUE(is_nan16(cast_one<std::uint16_t>(DType::kF32, nan, DType::kBF16), 0x7f80));
  EXPECT_TRUE(is_nan16(cast_one<std::uint16_t>(DType::kF32, nan, DType::kF16), 0x7c00));
  EXPECT_EQ((std::bit_cast<std::uint32_t>(cast_one<float>(DType::kF32, nan, DType::kF32))), 0x7f800001u);
}

}  // namespace
}  // namespace titan::convert::cast_test
