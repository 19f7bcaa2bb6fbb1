#pragma once
// UTF-8: validation, decoding and encoding.
// \source RFC 3629, section 4 (no overlong forms, no surrogates, nothing above U+10FFFF)
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace titan::ckpt {

/// The UTF-8 byte order mark (BOM). Some Windows programs write it at the start of a file; it is not part of the text.
inline constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

struct Utf8Char {
  std::uint32_t code = 0;
  std::size_t bytes = 0;  ///< 0: the text does not begin with a well-formed character
};

/// Decodes the first character of `text`, which must not be empty. Overlong forms, surrogates and values above U+10FFFF
/// are malformed.
Utf8Char decode_utf8(std::string_view text);

/// Appends the character `code` (at most U+10FFFF) in UTF-8.
void append_utf8(std::string& out, std::uint32_t code);

/// The code points from `first` to `last`.
struct CodeRange {
  std::uint32_t first = 0, last = 0;
  bool operator==(const CodeRange&) const = default;
};
/// Whether `code` is in one of `ranges`.
bool in_ranges(std::span<const CodeRange> ranges, std::uint32_t code);

/// A control character that does not occur in ordinary text: NUL and others, but not white space, backspace or escape.
constexpr bool is_odd_control(unsigned char c) { return c < 0x20 && (c < '\b' || c > '\r') && c != 0x1b; }

struct TextScan {
  /// Offset of the first malformed or truncated sequence; the size of the text if it is all well-formed.
  std::size_t valid = 0;
  std::size_t control = std::string_view::npos;  ///< offset of the first odd control byte before `valid`; npos: none
};

/// Computes both members in one pass over `text`.
TextScan scan_text(std::string_view text);

/// True when `text` is well-formed UTF-8.
inline bool is_utf8(std::string_view text) { return scan_text(text).valid == text.size(); }

}  // namespace titan::ckpt
