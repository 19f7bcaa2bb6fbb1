#pragma once
// Converts elements from one floating-point type to another. Exact if the target type can hold the value, else rounded
// to nearest, ties to even.
#include <cstddef>
#include <span>

#include "ckpt/ops/convert_dtype.h"

namespace titan::convert {

/// True for float32, bfloat16 and float16, to which cast() casts elements of any type of ckpt::is_float().
bool is_castable(ckpt::DType dtype);

/// Converts the elements in `in` from type `from` to type `to`, into `out`; copies them if the types are equal. Returns
/// the rounding error (ckpt::convert_elements()).
ckpt::RoundingError cast(ckpt::DType from, std::span<const std::byte> in, ckpt::DType to, std::span<std::byte> out);

}  // namespace titan::convert
