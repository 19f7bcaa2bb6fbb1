#include "ckpt/ops/element.h"

#include <bit>
#include <cmath>
#include <cstring>

#include "ckpt/base/integers.h"
#include "ckpt/base/printed.h"

namespace titan::ckpt {

namespace {

float widen_bf16(std::uint16_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

float widen_f16(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const int fraction = bits & 1023;
  float value = 0;
  if (exponent == 31) {
    value = fraction == 0 ? INFINITY : NAN;
  } else if (exponent == 0) {
    value = std::ldexp(static_cast<float>(fraction), -24);
  } else {
    value = std::ldexp(static_cast<float>(1024 + fraction), exponent - 25);
  }
  return (bits & 0x8000) != 0 ? -value : value;
}

/// Calls `use` with the element in the narrowest C++ type that holds it.
template <typename Use>
auto with_element(DType dtype, const std::byte* bytes, Use use) {
  switch (dtype) {
    case DType::kBF16: return use(widen_bf16(element_at<std::uint16_t>(bytes)));
    case DType::kF16: return use(widen_f16(element_at<std::uint16_t>(bytes)));
    case DType::kF64: return use(element_at<double>(bytes));
    case DType::kI64: return use(element_at<std::int64_t>(bytes));
    case DType::kI32: return use(element_at<std::int32_t>(bytes));
    case DType::kU8: return use(static_cast<int>(element_at<std::uint8_t>(bytes)));
    case DType::kF32: break;
  }
  return use(element_at<float>(bytes));
}

}  // namespace

double element_value(DType dtype, const std::byte* bytes) {
  return with_element(dtype, bytes, [](auto value) { return static_cast<double>(value); });
}

std::string element_text(DType dtype, const std::byte* bytes) {
  return with_element(dtype, bytes, [](auto value) { return digits_of(value); });
}

}  // namespace titan::ckpt
