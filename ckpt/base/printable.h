#pragma once
// Makes text from files and names safe for terminals and logs. Pure.
#include <string>
#include <string_view>

namespace titan::ckpt {

/// `text` on one line and without terminal control: control characters, bytes that are not UTF-8, line separators, and
/// characters that are invisible or reorder text become \xNN or \u{N}. All other characters stay.
std::string printable(std::string_view text);

}  // namespace titan::ckpt
