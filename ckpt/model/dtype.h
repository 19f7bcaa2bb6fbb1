#pragma once
// Element types that a checkpoint can hold.
#include <cstdint>
#include <string_view>

#include "ckpt/base/result.h"

namespace titan::ckpt {

enum class DType : std::uint8_t { kF32, kBF16, kF16, kF64, kI64, kI32, kU8 };

std::uint64_t dtype_size(DType dtype);     ///< bytes per element
std::string_view dtype_name(DType dtype);  ///< "float32", "bfloat16", "float16", "float64", "int64", "int32", "uint8"
Result<DType> parse_dtype(std::string_view name);  ///< \error kInvalid

}  // namespace titan::ckpt
