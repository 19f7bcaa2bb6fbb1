#pragma once
// Makes text safe to print, and measures its width in columns. Pure.
#include <cstddef>
#include <string>
#include <string_view>

namespace titan::cli {

/// `text` with control characters, bytes that are not UTF-8, and invisible direction marks as \xNN or \u{N}, so that it
/// cannot control a terminal. All other characters are unchanged.
std::string escape(std::string_view text);

/// Returns `text` with every byte that is not part of well-formed UTF-8 replaced by U+FFFD.
std::string replace_bad_utf8(std::string_view text);

/// Columns that `text` takes on a terminal: 0 for a combining mark, 2 for an East Asian wide character or an emoji,
/// else 1.
std::size_t display_width(std::string_view text);

/// Standard base64 with padding.
std::string base64(std::string_view bytes);

}  // namespace titan::cli
