#pragma once
// Unicode normalization form C with the tables of Unicode 9.0, because Hugging Face's tokenizers library uses these.
// Code points newer than 9.0 do not change. Pure.
// \source https://www.unicode.org/reports/tr15/; tables/make_tables.py
#include <string>
#include <string_view>

namespace titan::recipe {

/// Appends the NFC form of `text`, which must be UTF-8. Linear time, except that long runs of combining marks are
/// sorted.
void append_nfc(std::string_view text, std::string& out);

}  // namespace titan::recipe
