#pragma once
// Checks whether raw token ids have the width that they are read with. Ids that are read with a wrong width are noise,
// but may all be in the vocabulary. Pure.
#include <cstddef>
#include <string>
#include <string_view>

#include "ckpt/base/result.h"

namespace titan::train {

/// Not ok if the file at `path` probably does not hold ids of `width` bytes (2 or 4): its `beginning` looks like wider
/// ids (of 32 or 64 bits), or has llm.c's header. `option`: what a user types before "uint32" to set the type. \error
/// kInvalid
ckpt::Status doubt_of_ids(const std::string& path, std::string_view beginning, std::size_t width,
                          const std::string& option);

/// Whether 16-bit ids seem to be big-endian.
bool looks_big_endian(std::string_view beginning);

}  // namespace titan::train
