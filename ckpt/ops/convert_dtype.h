#pragma once
// Converts elements from one floating-point type to another, and measures the rounding error.
#include <cstdint>
#include <span>
#include <vector>

#include "ckpt/model/dtype.h"

namespace titan::ckpt {

/// The rounding error of converted elements.
struct RoundingError {
  double largest = 0;             ///< largest absolute difference among finite elements
  std::uint64_t at = 0;           ///< index of that element, counted from the first one given
  std::uint64_t rounded = 0;      ///< elements whose value changed
  std::uint64_t overflowed = 0;   ///< elements finite before and infinite after; not in `largest`
  std::uint64_t overflow_at = 0;  ///< index of the first of these
};

/// True for floating-point types.
bool is_float(DType dtype);

/// Converts `in` (of the floating-point type `from`) to `out` (type `to`: kF32, kBF16 or kF16), rounding once to
/// nearest, ties to even. NaN keeps its sign and as much of its payload as fits. `out` has as many elements as `in`;
/// both are little-endian.
RoundingError convert_elements(DType from, std::span<const std::byte> in, DType to, std::span<std::byte> out);

/// Appends bfloat16 elements to `out` as the float32 of equal value, whose upper 16 bits they are.
void append_widened(std::span<const std::byte> bf16, std::vector<std::byte>& out);

}  // namespace titan::ckpt
