#include "ckpt/ops/element.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

namespace titan::ckpt::element_test {
namespace {

template <typename T>
std::vector<std::byte> bytes_of(T value) {
  std::vector<std::byte> bytes(sizeof value);
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

TEST(Element, ReadsEveryType) {
  EXPECT_EQ(element_text(DType::kF32, bytes_of(0.1f).data()), "0.1");
  EXPECT_EQ(element_text(DType::kF64, bytes_of(0.1).data()), "0.1");
  EXPECT_EQ(element_text(DType::kBF16, bytes_of<std::uint16_t>(0x3f80).data()), "1");
  EXPECT_EQ(element_text(DType::kBF16, bytes_of<std::uint16_t>(0xc049).data()), "-3.140625");
  EXPECT_EQ(element_text(DType::kI64, bytes_of<std::int64_t>(INT64_MIN).data()), "-9223372036854775808");
  EXPECT_EQ(element_text(DType::kI32, bytes_of<std::int32_t>(-7).data()), "-7");
  EXPECT_EQ(element_text(DType::kU8, bytes_of<std::uint8_t>(200).data()), "200");
  EXPECT_EQ(element_text(DType::kF32, bytes_of(-std::numeric_limits<float>::infinity()).data()), "-inf");
  EXPECT_EQ(element_text(DType::kF32, bytes_of(std::nanf("")).data()), "nan");
}

TEST(Element, WidensEveryKindOfHalf) {
  struct Case {
    std::uint16_t bits;
    double value;
  };
  for (const Case& c :
       {Case{0x0000, 0}, Case{0x3c00, 1}, Case{0xc000, -2}, Case{0x7bff, 65504}, Case{0x0400, 0x1p-14},
        Case{0x0001, 0x1p-24}, Case{0x83ff, -1023 * 0x1p-24}, Case{0x3555, 1365.0 / 4096}, Case{0x7c00, INFINITY}})
    EXPECT_EQ(element_value(DType::kF16, bytes_of(c.bits).data()), c.value) << c.bits;
  EXPECT_TRUE(std::isnan(element_value(DType::kF16, bytes_of<std::uint16_t>(0x7e00).data())));
}

}  // namespace
}  // namespace titan::ckpt::element_test
