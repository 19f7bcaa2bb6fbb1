#pragma once
// Converts between text and token ids, with the model's tokenizer, or without one byte by byte.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ckpt/base/result.h"
#include "cli/titan_train/weights.h"
#include "recipe/text/detokenizer.h"

namespace titan::cli {

/// The ids of `text`. `around`: the ids begin with the tokenizer's own prefix (BOS). \error kInvalid: there is a
/// tokenizer, and `text` is not UTF-8
ckpt::Result<std::vector<std::int64_t>> ids_of(const Texts& texts, const std::string& text, bool around);

/// Decodes tokens to text, one at a time. `texts` must outlive it.
class TextDecoder {
 public:
  explicit TextDecoder(const Texts& texts);
  /// Sets the ids that precede the first push(), since tokenizers decode the first token of a text differently.
  void follow(const std::vector<std::int64_t>& ids);
  /// Returns the text that is complete with `token`: empty if the token is special or ends within a UTF-8 character.
  /// Without a tokenizer, returns the byte at once.
  std::string push(std::int64_t token);
  /// Call it after the last token. Returns the text that is still buffered, such as bytes of an incomplete character.
  std::string finish();

 private:
  const Texts& texts_;
  std::optional<recipe::DecodeRun> run_;
};

}  // namespace titan::cli
