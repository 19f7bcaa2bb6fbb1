#pragma once
// Text from files and names, made safe for terminals and logs. Pure.
#include <string>
#include <string_view>

namespace titan::ckpt {

/// Makes `text` harmless for a terminal and keeps it on one line: control characters, bytes that are not UTF-8, and
/// invisible direction marks become \xNN or \u{N}. Everything else stays.
std::string printable(std::string_view text);

}  // namespace titan::ckpt
