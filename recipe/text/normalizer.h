#pragma once
// The normalizer of a tokenizer, applied to a text before it is cut: form C, replacements, a prefix. Pure.
#include <string>
#include <string_view>
#include <vector>

#include "ckpt/base/result.h"
#include "ckpt/format/json_value.h"

namespace titan::recipe {

class Normalizer {
 public:
  /// Reads `part`, the object "normalizer" of tokenizer.json; nullptr: there is none. \error kUnsupported: other types
  /// than NFC, Replace, Prepend and Sequence; a Replace of a pattern, or by a text more than four times as long;
  /// kInvalid: more than 4 steps, a step that inserts more than 1,024 bytes, or a wrong value
  static ckpt::Result<Normalizer> read(const ckpt::JsonValue* part);

  bool empty() const { return steps_.empty(); }
  /// Returns the normalised text: `text` itself if there is no step or no text, else a view of `out`.
  std::string_view apply(std::string_view text, std::string& out) const;

 private:
  enum class Kind { kNfc, kReplace, kPrepend };
  struct Step {
    Kind kind;
    std::string from, to;  ///< for kReplace; kPrepend uses only `to`
  };
  std::vector<Step> steps_;
};

}  // namespace titan::recipe
