#pragma once
// Element types of GGUF files: their blocks, and decoding of a block.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "ckpt/model/dtype.h"

namespace titan::convert {

/// A type that can be read. Elements are stored in independent blocks.
struct GgmlType {
  std::uint32_t id;
  const char* name;
  std::uint32_t elements;            ///< per block
  std::uint32_t bytes;               ///< per block
  std::optional<ckpt::DType> plain;  ///< the same type in Titan checkpoints; nullopt: elements are read as float32
  /// Fills `out` with the `elements` values of one block, bit-identical to gguf-py. This pointer is null if `plain` is
  /// set.
  void (*decode)(const std::byte* block, float* out);
  ckpt::DType dtype() const { return plain.value_or(ckpt::DType::kF32); }
};

inline constexpr std::uint32_t kMaxBlockElements = 256;

/// The type `id`; nullptr if it cannot be read.
const GgmlType* ggml_type(std::uint32_t id);
/// The name of type `id`, whether it can be read or not; "type 99" for an unknown number.
std::string ggml_type_name(std::uint32_t id);
/// The GGUF type whose elements are stored as `dtype`, which must be float32, float64, float16, bfloat16, int32 or
/// int64.
const GgmlType& plain_type(ckpt::DType dtype);
/// Q8_0, which can also be written.
const GgmlType& q8_0();
/// Writes `values` (a multiple of 32) as blocks of Q8_0, bit-identical to gguf-py. Values must be finite and at most
/// 127 x 65504 in magnitude.
void quantise_q8_0(std::span<const float> values, std::span<std::byte> out);

}  // namespace titan::convert
