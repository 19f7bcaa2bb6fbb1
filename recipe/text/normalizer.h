#pragma once
// What a tokenizer makes of a text before it is cut: form C, spaces written otherwise. Pure.
#include <string>
#include <string_view>
#include <vector>

#include "ckpt/base/result.h"
#include "ckpt/format/json_value.h"

namespace titan::recipe {

class Normalizer {
 public:
  /// The member "normalizer" of tokenizer.json; nullptr: none. \error kUnsupported: another type than NFC, Replace of a
  /// text, Prepend, Sequence; kInvalid
  static ckpt::Result<Normalizer> read(const ckpt::JsonValue* part);

  bool empty() const { return steps_.empty(); }
  /// `text` normalised; it is written to `out` unless there is nothing to do.
  std::string_view apply(std::string_view text, std::string& out) const;

 private:
  enum class Kind { kNfc, kReplace, kPrepend };
  struct Step {
    Kind kind;
    std::string from, to;  ///< of kReplace; kPrepend has `to`
  };
  std::vector<Step> steps_;
};

}  // namespace titan::recipe
