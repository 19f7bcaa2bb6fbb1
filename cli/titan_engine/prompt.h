#pragma once
// What `titan-train sample` begins with: text as bytes, or token ids.
#include <cstdint>
#include <string>
#include <vector>

#include "ckpt/base/result.h"
#include "cli/kit/command_line.h"
#include "cli/titan_train/weights.h"

namespace titan::cli {

/// Fails where not exactly one of --prompt and --prompt-ids is given, or a text is empty. \error kInvalid
ckpt::Status check_prompt(const Command& command);

/// The ids of the prompt: those of the text --prompt, or --prompt-ids, which has them itself or names a file with them.
/// \error kInvalid: no file, no numbers, none at all, one outside the vocabulary
ckpt::Result<std::vector<std::int64_t>> prompt_of(const Command& command, const Texts& texts, std::int64_t vocab_size);

/// Numbers between commas and white space. \error kInvalid naming what is none
ckpt::Result<std::vector<std::int64_t>> parse_ids(const std::string& text);

}  // namespace titan::cli
