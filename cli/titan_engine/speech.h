#pragma once
// Turns text into a model's ids and back, by bytes or by the model's tokenizer.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ckpt/base/result.h"
#include "cli/titan_train/weights.h"
#include "recipe/text/detokenizer.h"

namespace titan::cli {

/// The ids of `text`. `around`: adds what the tokenizer puts before a text. \error kInvalid: not UTF-8, if there is a
/// tokenizer
ckpt::Result<std::vector<std::int64_t>> ids_of(const Texts& texts, const std::string& text, bool around);

/// Turns tokens into bytes, one after the other. `texts` must outlive it.
class Speech {
 public:
  explicit Speech(const Texts& texts);
  /// Sets the ids before the first push(): a tokenizer decodes the first token of a text differently.
  void follow(const std::vector<std::int64_t>& ids);
  std::string push(std::int64_t token);
  std::string finish();

 private:
  const Texts& texts_;
  std::optional<recipe::DecodeRun> run_;
};

}  // namespace titan::cli
