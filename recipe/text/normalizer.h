#pragma once
// The normalizer of a tokenizer, applied to a text before it is cut: form C, replacements of spaces. Pure.
#include <string>
#include <string_view>
#include <vector>

#include "ckpt/base/result.h"
#include "ckpt/format/json_value.h"

namespace titan::recipe {

class Normalizer {
 public:
  /// Reads the member "normalizer" of tokenizer.json; nullptr: none. \error kUnsupported: other types than NFC, Replace
  /// (of a text), Prepend and Sequence; kInvalid
  static ckpt::Result<Normalizer> read(const ckpt::JsonValue* part);

  bool empty() const { return steps_.empty(); }
  /// Returns the normalised text: `text` itself if nothing changes, else a view of `out`.
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
