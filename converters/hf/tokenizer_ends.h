#pragma once
// The tokens that begin and end a text, from the tokenizer that came with a model.
#include <cstdint>
#include <optional>
#include <vector>

#include "converters/format.h"

namespace titan::convert {

struct TokenizerEnds {
  std::optional<std::uint32_t> begin, end;
};

/// By tokenizer.json and tokenizer_config.json among `companions`; nothing if there is no tokenizer, or one that cannot
/// be read. \error kCorrupt (a member against its digest), kFailed
Result<TokenizerEnds> tokenizer_ends(Fs& fs, const std::vector<Companion>& companions);

}  // namespace titan::convert
