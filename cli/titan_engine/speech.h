#pragma once
// Text as the ids of a model, and back: bytes, or what its tokenizer makes of it.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ckpt/base/result.h"
#include "cli/titan_train/weights.h"
#include "recipe/text/detokenizer.h"

namespace titan::cli {

/// The ids of `text`. `around`: with what the tokenizer puts before a text. \error kInvalid: not UTF-8, for a tokenizer
ckpt::Result<std::vector<std::int64_t>> ids_of(const Texts& texts, const std::string& text, bool around);

/// The bytes that tokens stand for, one after the other. `texts` outlives it.
class Speech {
 public:
  explicit Speech(const Texts& texts);
  /// What was said before the first push: a tokenizer writes the first token of a text in another way.
  void follow(const std::vector<std::int64_t>& ids);
  std::string push(std::int64_t token);
  std::string finish();

 private:
  const Texts& texts_;
  std::optional<recipe::DecodeRun> run_;
};

}  // namespace titan::cli
