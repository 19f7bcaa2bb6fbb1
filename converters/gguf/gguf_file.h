#pragma once
// The beginning of a GGUF file: metadata, and where its tensors lie.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ckpt/base/fs.h"
#include "ckpt/base/result.h"
#include "converters/gguf/ggml_types.h"

namespace titan::convert {

/// One value of the metadata.
struct GgufValue {
  enum class Kind { kWhole, kReal, kFlag, kText, kList };
  Kind kind = Kind::kWhole;
  std::int64_t whole = 0;   ///< kWhole (a larger one is the largest), kFlag
  double real = 0;          ///< kReal; a float32 is the number of its shortest digits
  std::string text;         ///< kText, where it is short (kMaxGgufText bytes); else empty
  std::uint64_t count = 0;  ///< elements of a list, bytes of a text
  bool operator==(const GgufValue&) const = default;
};
inline constexpr std::uint64_t kMaxGgufText = 1024;

struct GgufTensor {
  std::string name;
  std::vector<std::uint64_t> shape;  ///< row-major: the reverse of the file's
  const GgmlType* type = nullptr;
  std::uint64_t offset = 0, bytes = 0;  ///< in the file
};

struct GgufHeader {
  std::map<std::string, GgufValue> values;
  std::vector<GgufTensor> tensors;
  std::uint64_t data_offset = 0;

  /// nullptr where `key` is not there, or of another kind.
  const GgufValue* find(const std::string& key, GgufValue::Kind kind) const;
  std::optional<std::string> text(const std::string& key) const;
};

/// Reads the beginning of `file`, called `what` in messages. Nothing is allocated that the file does not hold; lists
/// are walked, not kept. \error kCorrupt (what cannot be right in any GGUF file), kUnsupported (another version or byte
/// order, types of elements that are not read, by name), kFailed
/// \source https://github.com/ggml-org/ggml, docs/gguf.md
ckpt::Result<GgufHeader> read_gguf_header(ckpt::File& file, const std::string& what);

}  // namespace titan::convert
