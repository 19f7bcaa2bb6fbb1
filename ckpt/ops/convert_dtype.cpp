#include "ckpt/ops/convert_dtype.h"

#include <bit>
#include <cmath>
#include <cstring>

#include "ckpt/ops/element.h"

namespace titan::ckpt {
namespace {

// Rounds a float to bfloat16, its upper 16 bits: adds half a unit of the last kept bit, or a little less if that bit is
// 0, so that ties go to even.
std::uint16_t bf16_of(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  if (std::isnan(value))
    return static_cast<std::uint16_t>((bits >> 16) | 0x0040);  // quiet, or the payload may round to infinity
  return static_cast<std::uint16_t>((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16);
}

std::uint16_t f16_of(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value), size = bits & 0x7fffffff;
  const auto sign = static_cast<std::uint16_t>(bits >> 31 << 15);
  if (size > 0x7f800000) return static_cast<std::uint16_t>(sign | 0x7e00 | (size >> 13 & 0x3ff));
  if (size >= 0x47800000) return sign | 0x7c00;  // 65536 and more
  if (size < 0x38800000) {                       // below the smallest normal number: a multiple of 2^-24
    // The sum with 0.5 has the unit 2^-24 in its last place, so the hardware rounds to even there.
    const float shifted = std::bit_cast<float>(size) + 0.5f;
    return static_cast<std::uint16_t>(sign |
                                      (std::bit_cast<std::uint32_t>(shifted) - std::bit_cast<std::uint32_t>(0.5f)));
  }
  const std::uint32_t rounded = size + 0xfff + (size >> 13 & 1);
  return static_cast<std::uint16_t>(sign | ((rounded >> 13) - (112 << 10)));
}

// Rounds a double to a float, to odd: a later rounding of the float to 16 bits then equals that of the double.
float to_odd(double value) {
  const float nearest = static_cast<float>(value);
  if (!std::isfinite(nearest) || static_cast<double>(nearest) == value) return nearest;
  std::uint32_t bits = std::bit_cast<std::uint32_t>(nearest);
  if ((bits & 1) == 0) {
    // The adjacent float, which is odd, is on the other side of the value.
    const bool too_far = std::fabs(static_cast<double>(nearest)) > std::fabs(value);
    bits = too_far ? bits - 1 : bits + 1;
  }
  return std::bit_cast<float>(bits);
}

void note(RoundingError& error, std::uint64_t index, double before, double after) {
  if (before == after || std::isnan(before)) return;
  ++error.rounded;
  if (std::isinf(after)) {
    if (error.overflowed++ == 0) error.overflow_at = index;
    return;
  }
  const double difference = std::fabs(after - before);
  if (difference <= error.largest) return;
  error.largest = difference;
  error.at = index;
}

}  // namespace

bool is_float(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kBF16 || dtype == DType::kF16 || dtype == DType::kF64;
}

RoundingError convert_elements(DType from, std::span<const std::byte> in, DType to, std::span<std::byte> out) {
  RoundingError error;
  const std::uint64_t count = in.size() / dtype_size(from);
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::byte* source = in.data() + i * dtype_size(from);
    float value = 0;
    double before = 0;
    if (from == DType::kF32) {
      std::memcpy(&value, source, sizeof value);
      before = value;
    } else {
      before = element_value(from, source);
      value = from == DType::kF64 && to != DType::kF32 ? to_odd(before) : static_cast<float>(before);
    }
    if (to == DType::kF32) {
      std::memcpy(out.data() + i * sizeof value, &value, sizeof value);
      note(error, i, before, value);
    } else {
      const std::uint16_t bits = to == DType::kBF16 ? bf16_of(value) : f16_of(value);
      std::memcpy(out.data() + i * sizeof bits, &bits, sizeof bits);
      note(error, i, before, element_value(to, out.data() + i * sizeof bits));
    }
  }
  return error;
}

void append_widened(std::span<const std::byte> bf16, std::vector<std::byte>& out) {
  const std::size_t at = out.size();
  out.resize(at + bf16.size() * 2);
  for (std::size_t i = 0; i + 1 < bf16.size(); i += 2) std::memcpy(&out[at + 2 * i + 2], &bf16[i], 2);
}

}  // namespace titan::ckpt
