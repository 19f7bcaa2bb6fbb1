#pragma once
// Reads the beginning of a GGUF file: metadata, and the offsets of its tensors.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ckpt/base/result.h"
#include "converters/gguf/ggml_types.h"

namespace titan::ckpt {
class File;
}

namespace titan::convert {

/// One value of the metadata.
struct GgufValue {
  enum class Kind { kWhole, kReal, kFlag, kText, kList };
  Kind kind = Kind::kWhole;
  std::int64_t whole = 0;   ///< kWhole (larger values become the largest int64), kFlag
  double real = 0;          ///< kReal; a float32 becomes the double with its shortest digits
  std::string text;         ///< kText of at most kMaxGgufText bytes; a longer text is skipped, and this is empty
  std::uint64_t count = 0;  ///< kList: number of elements; kText: number of bytes
  bool operator==(const GgufValue&) const = default;
};
inline constexpr std::uint64_t kMaxGgufText = 1024;

/// A tensor in the file.
struct GgufTensor {
  std::string name;
  std::vector<std::uint64_t> shape;  ///< row-major: the reverse of the order in the file
  const GgmlType* type = nullptr;
  std::uint64_t offset = 0, bytes = 0;  ///< of its data in the file
};

/// Everything before the tensor data.
struct GgufHeader {
  std::map<std::string, GgufValue> values;
  std::vector<GgufTensor> tensors;
  std::uint64_t data_offset = 0;

  /// The value of `key`; nullptr if there is none, or if it is of another kind.
  const GgufValue* find(const std::string& key, GgufValue::Kind kind) const;
  std::optional<std::string> text(const std::string& key) const;
};

/// Reads the beginning of `file`, called `what` in messages. Allocates memory only for entries that fit into the file;
/// elements of lists are skipped. \error kCorrupt (violates the GGUF format), kUnsupported (another version or byte
/// order, a header above the limits, or a tensor of an element type that Titan does not read; the message names the
/// type), kFailed
/// \source https://github.com/ggml-org/ggml, docs/gguf.md
ckpt::Result<GgufHeader> read_gguf_header(ckpt::File& file, const std::string& what);

}  // namespace titan::convert
