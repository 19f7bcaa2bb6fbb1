#include "ckpt/base/utf8.h"

#include <algorithm>
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

void append_utf8(std::string& out, std::uint32_t code) {
  if (code < 0x80) {
    out += static_cast<char>(code);
    return;
  }
  const int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  constexpr std::uint32_t kLead[] = {0, 0xC0, 0xE0, 0xF0};
  out += static_cast<char>(kLead[more] | code >> (6 * more));
  for (int i = more - 1; i >= 0; --i) out += static_cast<char>(0x80 | (code >> (6 * i) & 0x3F));
}

bool in_ranges(std::span<const CodeRange> ranges, std::uint32_t code) {
  return std::ranges::any_of(ranges,
                             [code](const CodeRange& range) { return code >= range.first && code <= range.last; });
}

}  // namespace titan::ckpt
