#pragma once
// Unicode's normalization form C, with the tables of Unicode 9.0: the library that tokenizers were made with has these.
// A younger code point stays where and as it is. Pure.
// \source https://www.unicode.org/reports/tr15/; tables/make_tables.py
#include <string>
#include <string_view>

namespace titan::recipe {

/// Appends the form C of `text`, which is UTF-8. Linear but for long runs of combining marks, which are sorted.
void append_nfc(std::string_view text, std::string& out);

}  // namespace titan::recipe
