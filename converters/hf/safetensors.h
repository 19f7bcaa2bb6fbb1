#pragma once
// A safetensors file: u64 little-endian length n, n bytes of JSON, then the buffer, which the entries fill without
// gaps.
// \source https://github.com/huggingface/safetensors, "Format"
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ckpt/model/dtype.h"

namespace titan::ckpt {
class File;
}

namespace titan::convert {

inline constexpr std::uint64_t kMaxSafetensorsHeader = 100'000'000;
inline constexpr std::uint64_t kSafetensorsPrefix = 8;

/// One tensor; `begin` and `end` count from the start of the buffer.
struct SafetensorsEntry {
  std::string name;
  ckpt::DType dtype = ckpt::DType::kF32;
  std::vector<std::uint64_t> shape;
  std::uint64_t begin = 0, end = 0;
  bool float8 = false;  ///< stored as F8_E4M3: `dtype` is then kU8
  bool operator==(const SafetensorsEntry&) const = default;
};

/// The decoded header.
struct SafetensorsHeader {
  std::uint64_t buffer_offset = 0;                            ///< of the buffer in the file; any alignment
  std::vector<SafetensorsEntry> entries;                      ///< by offset
  std::vector<std::pair<std::string, std::string>> metadata;  ///< `__metadata__`, in the file's order
  bool operator==(const SafetensorsHeader&) const = default;
};

/// Decodes the JSON of a header for a buffer of `buffer_bytes`; `what` names it in messages. `float8`: F8_E4M3 is
/// accepted too. \error kCorrupt (a rule of the format is violated), kUnsupported (an element type that no Titan
/// checkpoint can hold)
ckpt::Result<SafetensorsHeader> decode_safetensors_header(const std::string& what, std::string_view json,
                                                          std::uint64_t buffer_bytes, bool float8 = false);

/// Reads the header of `file`, called `what` in messages. \error as decode_safetensors_header(); kUnsupported: another
/// kind of file; kMediaError, kFailed
ckpt::Result<SafetensorsHeader> read_safetensors_header(ckpt::File& file, const std::string& what, bool float8 = false);

/// Arranges `entries` in the canonical order (by element type, types with larger elements first, then by name), sets
/// their offsets, and returns the bytes before the buffer: length and JSON, padded with spaces to a multiple of 8.
std::string encode_safetensors_header(std::vector<SafetensorsEntry>& entries,
                                      const std::vector<std::pair<std::string, std::string>>& metadata);

}  // namespace titan::convert
