#include "ckpt/base/printable.h"

#include <algorithm>
#include <cstdio>
#include <iterator>

namespace titan::ckpt {

namespace {

struct CodeRange {
  std::uint32_t first, last;
};

// Controls (C0, DEL, C1), line and paragraph separators, and marks that reorder or hide text.
constexpr CodeRange kHarmful[] = {{0x00, 0x1f},     {0x7f, 0x9f},     {0x61c, 0x61c},   {0x200b, 0x200f},
                                  {0x2028, 0x202e}, {0x2060, 0x206f}, {0xfeff, 0xfeff}, {0xe0000, 0xe0fff}};

bool is_harmful(std::uint32_t code) {
  return std::any_of(std::begin(kHarmful), std::end(kHarmful),
                     [code](const CodeRange& range) { return code >= range.first && code <= range.last; });
}

std::string hex_form(const char* format, std::uint32_t value) {
  char buffer[16];
  std::snprintf(buffer, sizeof buffer, format, value);
  return buffer;
}

}  // namespace

Utf8Char decode_utf8(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint8_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < bytes) return {};
  std::uint32_t code = lead & (0xffu >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3fu);
  }
  constexpr std::uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xd800 && code <= 0xdfff;
  if (code < kSmallest[bytes] || code > 0x10ffff || surrogate) return {};
  return {code, bytes};
}

std::string printable(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const Utf8Char next = decode_utf8(text);
    const std::size_t bytes = std::max<std::size_t>(next.bytes, 1);
    if (next.bytes == 0) {
      out += hex_form("\\x%02x", static_cast<std::uint8_t>(text[0]));
    } else if (is_harmful(next.code)) {
      out += hex_form(next.code < 0x80 ? "\\x%02x" : "\\u{%x}", next.code);
    } else {
      out += text.substr(0, bytes);
    }
    text.remove_prefix(bytes);
  }
  return out;
}

}  // namespace titan::ckpt
