#include "ckpt/base/printable.h"

#include <algorithm>
#include <cstdio>
#include <iterator>

#include "ckpt/base/utf8.h"

namespace titan::ckpt {

namespace {

// Controls (C0, DEL, C1), line and paragraph separators, and marks that reorder or hide text.
constexpr CodeRange kHarmful[] = {{0x00, 0x1f},     {0x7f, 0x9f},     {0x61c, 0x61c},   {0x200b, 0x200f},
                                  {0x2028, 0x202e}, {0x2060, 0x206f}, {0xfeff, 0xfeff}, {0xe0000, 0xe0fff}};

std::string hex_form(const char* format, std::uint32_t value) {
  char buffer[16];
  std::snprintf(buffer, sizeof buffer, format, value);
  return buffer;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const Utf8Char next = decode_utf8(text);
    const std::size_t bytes = std::max<std::size_t>(next.bytes, 1);
    if (next.bytes == 0) {
      out += hex_form("\\x%02x", static_cast<std::uint8_t>(text[0]));
    } else if (in_ranges(kHarmful, next.code)) {
      out += hex_form(next.code < 0x80 ? "\\x%02x" : "\\u{%x}", next.code);
    } else {
      out += text.substr(0, bytes);
    }
    text.remove_prefix(bytes);
  }
  return out;
}

}  // namespace titan::ckpt
