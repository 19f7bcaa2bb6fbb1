#pragma once
// Elements from one floating-point type to another, with the error that it makes.
#include <cstdint>
#include <span>

#include "ckpt/model/dtype.h"

namespace titan::ckpt {

struct RoundingError {
  double largest = 0;            ///< largest absolute difference among finite elements
  std::uint64_t at = 0;          ///< element index of it, counted from the first element given
  std::uint64_t rounded = 0;     ///< elements whose value changed
  std::uint64_t overflowed = 0;  ///< finite before, infinite after; not in `largest`
};

/// True for the types that convert_elements takes.
bool is_float(DType dtype);

/// Converts `in` (type `from`) into `out` (type `to`: kF32, kBF16 or kF16), rounding once to nearest, ties to even. NaN
/// stays NaN with its sign and as much of its payload as fits. `out` has as many elements as `in`; little-endian both.
RoundingError convert_elements(DType from, std::span<const std::byte> in, DType to, std::span<std::byte> out);

}  // namespace titan::ckpt
