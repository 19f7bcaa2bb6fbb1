#pragma once
// Single elements of a tensor as numbers, for previews and comparisons.
#include <cstddef>
#include <cstdint>
#include <string>

#include "ckpt/model/dtype.h"

namespace titan::ckpt {

/// The element at `bytes` (little-endian) as a double; exact except for 64-bit integers beyond 2^53.
double element_value(DType dtype, const std::byte* bytes);

/// The element at `bytes` as the shortest text that parses to the same value; "nan", "inf", "-inf".
std::string element_text(DType dtype, const std::byte* bytes);

}  // namespace titan::ckpt
