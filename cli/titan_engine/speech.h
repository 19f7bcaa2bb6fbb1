#pragma once
// Converts between text and a model's ids, by bytes or by the model's tokenizer.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ckpt/base/result.h"
#include "cli/titan_train/weights.h"
#include "recipe/text/detokenizer.h"

namespace titan::cli {

/// The ids of `text`. `around`: adds the tokenizer's own prefix. \error kInvalid: not UTF-8, if there is a tokenizer
ckpt::Result<std::vector<std::int64_t>> ids_of(const Texts& texts, const std::string& text, bool around);

/// Decodes tokens to bytes one by one. `texts` must outlive it.
class Speech {
 public:
  explicit Speech(const Texts& texts);
  /// Sets the ids before the first push(), since a tokenizer decodes the first token of a text differently.
  void follow(const std::vector<std::int64_t>& ids);
  std::string push(std::int64_t token);
  std::string finish();

 private:
  const Texts& texts_;
  std::optional<recipe::DecodeRun> run_;
};

}  // namespace titan::cli
