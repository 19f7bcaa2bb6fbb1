#pragma once
// Are raw token ids as wide as they are read? A wrong width gives ids that are all in the vocabulary, and noise. Pure.
#include <cstddef>
#include <string>
#include <string_view>

#include "ckpt/base/result.h"

namespace titan::train {

/// Not ok where the file at `path` hardly holds ids of `width` bytes (2 or 4): its `beginning` has those of 32 or 64
/// bits, or the header of llm.c. `option`: what stands before "uint32" where a user sets the type. \error kInvalid
ckpt::Status doubt_of_ids(const std::string& path, std::string_view beginning, std::size_t width,
                          const std::string& option);

/// Whether the bytes of 16-bit ids seem to be the wrong way round.
bool looks_big_endian(std::string_view beginning);

}  // namespace titan::train
