#pragma once
// The prompt of `titan-train sample`: text, or token ids.
#include <cstdint>
#include <string>
#include <vector>

#include "ckpt/base/result.h"
#include "cli/kit/command_line.h"
#include "cli/titan_train/weights.h"

namespace titan::cli {

/// Fails unless exactly one of --prompt and --prompt-ids is given, and if a text is empty. \error kInvalid
ckpt::Status check_prompt(const Command& command);

/// The ids of the prompt: of the text in --prompt, or in --prompt-ids, which has ids or names a file with ids. \error
/// kInvalid: the file does not exist, ids are not numbers, missing, or outside the vocabulary
ckpt::Result<std::vector<std::int64_t>> prompt_of(const Command& command, const Texts& texts, std::int64_t vocab_size);

/// Numbers separated by commas and white space. \error kInvalid naming what is not a number
ckpt::Result<std::vector<std::int64_t>> parse_ids(const std::string& text);

}  // namespace titan::cli
