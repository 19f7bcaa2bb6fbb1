#pragma once
// The tokens that begin and end a text, as the tokenizer says that came with a model.
#include <cstdint>
#include <optional>
#include <vector>

#include "converters/format.h"

namespace titan::convert {

struct TokenizerEnds {
  std::optional<std::uint32_t> begin, end;
};

/// By tokenizer.json and tokenizer_config.json among `companions`; nothing where there is none, or one that is not
/// read. \error kCorrupt (a member against its digest), kFailed
Result<TokenizerEnds> tokenizer_ends(Fs& fs, const std::vector<Companion>& companions);

}  // namespace titan::convert
