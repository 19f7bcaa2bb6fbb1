#pragma once
// Text that is safe to print: names from files escaped, widths measured in columns. Pure.
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace titan::cli {

/// Makes `text` harmless for a terminal: control characters, bytes that are not UTF-8, and invisible direction marks
/// become \xNN or \u{N}. Everything else stays as it is.
std::string escape(std::string_view text);

/// Returns `text` with every byte that is not part of well-formed UTF-8 replaced by U+FFFD.
std::string replace_bad_utf8(std::string_view text);

/// Columns that `text` takes on a terminal: combining marks 0, East Asian wide characters and emoji 2.
std::size_t display_width(std::string_view text);

/// Standard base64 with padding.
std::string base64(std::string_view bytes);

}  // namespace titan::cli
