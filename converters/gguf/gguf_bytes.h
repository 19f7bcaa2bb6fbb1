#pragma once
// Writes the part of a GGUF file before the tensor data.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "converters/gguf/ggml_types.h"

namespace titan::convert {

/// A tensor to write.
struct GgufEntry {
  std::string name;
  std::vector<std::uint64_t> shape;  ///< row-major
  const GgmlType* type = nullptr;
  std::uint64_t offset = 0;  ///< in the file, in bytes; set by GgufBytes::finish
  std::uint64_t bytes() const;
};

/// Collects metadata in file order. Like gguf-py, it does not write empty texts.
class GgufBytes {
 public:
  void put_u32(std::string_view key, std::uint64_t value);
  void put_f32(std::string_view key, double value);
  void put_text(std::string_view key, std::string_view value);
  /// Returns all bytes before the first tensor, padding included. Sets the offsets of `entries`, which are stored in
  /// this order. Sets `*end` to the size of the file including its final padding.
  std::string finish(std::vector<GgufEntry>& entries, std::uint64_t* end) const;

 private:
  void put_key(std::string_view key, std::uint32_t type);
  std::string values_;
  std::uint64_t keys_ = 0;
};

}  // namespace titan::convert
