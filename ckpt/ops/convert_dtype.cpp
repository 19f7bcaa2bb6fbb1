#include "ckpt/ops/convert_dtype.h"

#include <bit>
#include <cmath>
#include <cstring>

#include "ckpt/ops/element.h"

namespace titan::ckpt {
namespace {

// Of a float to bfloat16, its upper half: add half of the last place that stays, less one where that place is even.
std::uint16_t bf16_of(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  if (std::isnan(value)) return static_cast<std::uint16_t>((bits >> 16) | 0x0040);  // quiet, or the payload may round to infinity
  return static_cast<std::uint16_t>((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16);
}

// Of a double to a float that rounds to bfloat16 as the double would: to odd, so that no tie is made or unmade on the way.
float to_odd(double value) {
  const float nearest = static_cast<float>(value);
  if (!std::isfinite(nearest) || static_cast<double>(nearest) == value) return nearest;
  std::uint32_t bits = std::bit_cast<std::uint32_t>(nearest);
  if ((bits & 1) == 0) {
    // The odd neighbour lies on the other side of the value.
    const bool too_far = std::fabs(static_cast<double>(nearest)) > std::fabs(value);
    bits = too_far ? bits - 1 : bits + 1;
  }
  return std::bit_cast<float>(bits);
}

float widened(std::uint16_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

void note(RoundingError& error, std::uint64_t index, double before, double after) {
  if (before == after || std::isnan(before)) return;
  ++error.rounded;
  if (std::isinf(after)) {
    ++error.overflowed;
    return;
  }
  const double difference = std::fabs(after - before);
  if (difference <= error.largest) return;
  error.largest = difference;
  error.at = index;
}

}  // namespace

bool is_float(DType dtype) { return dtype == DType::kF32 || dtype == DType::kBF16 || dtype == DType::kF16 || dtype == DType::kF64; }

RoundingError convert_elements(DType from, std::span<const std::byte> in, DType to, std::span<std::byte> out) {
  RoundingError error;
  const std::uint64_t count = in.size() / dtype_size(from);
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::byte* source = in.data() + i * dtype_size(from);
    if (to == DType::kBF16) {
      double before = 0;
      std::uint16_t bits = 0;
      if (from == DType::kF32) {
        float value;
        std::memcpy(&value, source, sizeof value);
        bits = bf16_of(value);
        before = value;
      } else {
        before = element_value(from, source);
        bits = bf16_of(from == DType::kF64 ? to_odd(before) : static_cast<float>(before));
      }
      std::memcpy(out.data() + i * sizeof bits, &bits, sizeof bits);
      note(error, i, before, widened(bits));
    } else {
      const double before = element_value(from, source);
      const float value = static_cast<float>(before);
      std::memcpy(out.data() + i * sizeof value, &value, sizeof value);
      note(error, i, before, value);
    }
  }
  return error;
}

}  // namespace titan::ckpt
