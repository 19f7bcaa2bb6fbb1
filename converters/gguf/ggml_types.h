#pragma once
// Element types of GGUF files: their blocks, and the values that a block stands for.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "ckpt/model/dtype.h"

namespace titan::convert {

/// A type that is read: elements lie in blocks, each on its own.
struct GgmlType {
  std::uint32_t id;
  const char* name;
  std::uint32_t elements;            ///< of a block
  std::uint32_t bytes;               ///< of a block
  std::optional<ckpt::DType> plain;  ///< as it is in our checkpoints; else it is read as float32
  /// Fills `out` with the values of one block, bit for bit those of gguf-py; nullptr where the type is plain.
  void (*decode)(const std::byte* block, float* out);
  ckpt::DType dtype() const { return plain.value_or(ckpt::DType::kF32); }
};

inline constexpr std::uint32_t kMaxBlockElements = 256;

/// The type `id`; nullptr where it is not read.
const GgmlType* ggml_type(std::uint32_t id);
/// What `id` is called, whether it is read or not; "type 99" for a number that means nothing.
std::string ggml_type_name(std::uint32_t id);
/// The type of plain elements: float32, float16, bfloat16 and the like.
const GgmlType& plain_type(ckpt::DType dtype);
/// Q8_0, which is also written.
const GgmlType& q8_0();
/// Writes `values`, a multiple of 32 of them, as blocks of Q8_0, bit for bit as gguf-py does. All are finite, and none
/// is beyond 127 x 65504.
void quantise_q8_0(std::span<const float> values, std::span<std::byte> out);

}  // namespace titan::convert
