#pragma once
// UTF-8 validation.
// \source RFC 3629, section 4 (no overlong forms, no surrogates, nothing above U+10FFFF)
#include <cstddef>
#include <string_view>

namespace titan::ckpt {

/// Returns the offset of the first byte that does not belong to a well-formed sequence, or text.size() when all do.
/// A sequence that is cut off or goes wrong is reported at its first byte.
std::size_t valid_utf8_prefix(std::string_view text);

}  // namespace titan::ckpt
