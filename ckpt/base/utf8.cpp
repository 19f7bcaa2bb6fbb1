#include "ckpt/base/utf8.h"

#include <bit>
#include <cstdint>
#include <cstring>

namespace titan::ckpt {
namespace {

static_assert(std::endian::native == std::endian::little, "the first byte of a word is its lowest");

/// The high bit of each of eight ASCII bytes that is below 0x20.
std::uint64_t below_space(std::uint64_t word) {
  constexpr std::uint64_t kHigh = 0x8080808080808080u;
  return ~((word | kHigh) - 0x2020202020202020u) & kHigh;
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

TextScan scan_text(std::string_view text) {
  TextScan scan;
  std::size_t& at = scan.valid;
  const auto look_at = [&](std::size_t i) {
    if (scan.control == std::string_view::npos && is_odd_control(static_cast<unsigned char>(text[i]))) scan.control = i;
  };
  while (at < text.size()) {
    std::uint64_t word;
    if (text.size() - at >= sizeof word) {  // eight ASCII bytes at a time
      std::memcpy(&word, text.data() + at, sizeof word);
      if ((word & 0x8080808080808080u) == 0) {
        for (std::uint64_t left = below_space(word); left != 0; left &= left - 1)
          look_at(at + static_cast<std::size_t>(std::countr_zero(left)) / 8);
        at += sizeof word;
        continue;
      }
    }
    const std::size_t length = decode_utf8(text.substr(at)).bytes;
    if (length == 0) return scan;
    look_at(at);
    at += length;
  }
  return scan;
}

}  // namespace titan::ckpt
