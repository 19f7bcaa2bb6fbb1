#pragma once
// UTF-8 validation.
// \source RFC 3629, section 4 (no overlong forms, no surrogates, nothing above U+10FFFF)
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace titan::ckpt {

struct Utf8Char {
  std::uint32_t code = 0;
  std::size_t bytes = 0;  ///< 0: not well-formed here
};

/// Decodes the character at the start of `text`, which is not empty; overlong forms, surrogates and values past
/// U+10FFFF are malformed.
Utf8Char decode_utf8(std::string_view text);

/// A control character that text has not: NUL and the like, but no white space, backspace or escape.
constexpr bool is_odd_control(unsigned char c) { return c < 0x20 && (c < '\b' || c > '\r') && c != 0x1b; }

struct TextScan {
  std::size_t valid = 0;                         ///< as valid_utf8_prefix()
  std::size_t control = std::string_view::npos;  ///< the first is_odd_control() before `valid`; npos: none
};

/// Looks for both in one pass.
TextScan scan_text(std::string_view text);

/// Returns the offset of the first byte that does not belong to a well-formed sequence, or text.size() when all do.
/// A sequence that is cut off or goes wrong is reported at its first byte.
inline std::size_t valid_utf8_prefix(std::string_view text) { return scan_text(text).valid; }

/// True when `text` is well-formed UTF-8.
inline bool is_utf8(std::string_view text) { return valid_utf8_prefix(text) == text.size(); }

}  // namespace titan::ckpt
