#pragma once
// Text from files and names, made safe for terminals and logs. Pure.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace titan::ckpt {

struct Utf8Char {
  std::uint32_t code = 0;
  std::size_t bytes = 0;  ///< 0: not well-formed here
};

/// Decodes the character at the start of `text`, which is not empty; overlong forms, surrogates and values past
/// U+10FFFF are malformed.
Utf8Char decode_utf8(std::string_view text);

/// Makes `text` harmless for a terminal and keeps it on one line: control characters, bytes that are not UTF-8, and
/// invisible direction marks become \xNN or \u{N}. Everything else stays as it is.
std::string printable(std::string_view text);

}  // namespace titan::ckpt
