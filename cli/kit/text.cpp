#include "cli/kit/text.h"

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "ckpt/base/printable.h"
#include "ckpt/base/utf8.h"

namespace titan::cli {

namespace {

constexpr ckpt::CodeRange kCombining[] = {{0x300, 0x36f},   {0x483, 0x489},   {0x591, 0x5bd},
                                          {0x64b, 0x65f},   {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff},
                                          {0x20d0, 0x20ff}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}};
constexpr ckpt::CodeRange kWide[] = {{0x1100, 0x115f},   {0x2e80, 0x303e},   {0x3041, 0xa4cf},   {0xac00, 0xd7a3},
                                     {0xf900, 0xfaff},   {0xfe30, 0xfe4f},   {0xff00, 0xff60},   {0xffe0, 0xffe6},
                                     {0x1f300, 0x1f64f}, {0x1f680, 0x1f6ff}, {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd}};

}  // namespace

std::string escape(std::string_view text) { return ckpt::printable(text); }

std::string replace_bad_utf8(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const ckpt::Utf8Char next = ckpt::decode_utf8(text);
    const std::size_t bytes = std::max<std::size_t>(next.bytes, 1);
    out += next.bytes == 0 ? std::string_view("\xef\xbf\xbd") : text.substr(0, bytes);
    text.remove_prefix(bytes);
  }
  return out;
}

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  while (!text.empty()) {
    const ckpt::Utf8Char next = ckpt::decode_utf8(text);
    const std::size_t bytes = std::max<std::size_t>(next.bytes, 1);
    if (!ckpt::in_ranges(kCombining, next.code)) width += ckpt::in_ranges(kWide, next.code) ? 2 : 1;
    text.remove_prefix(bytes);
  }
  return width;
}

std::string base64(std::string_view bytes) {
  constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
    for (std::size_t k = 0; k < 3; ++k) group = group << 8 | (k < count ? static_cast<std::uint8_t>(bytes[i + k]) : 0u);
    for (std::size_t k = 0; k < 4; ++k) out += k <= count ? kDigits[group >> (18 - 6 * k) & 63] : '=';
  }
  return out;
}

}  // namespace titan::cli
