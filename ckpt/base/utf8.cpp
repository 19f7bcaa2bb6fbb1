#include "ckpt/base/utf8.h"

#include <cstdint>
#include <cstring>

namespace titan::ckpt {
namespace {

/// Length of the well-formed sequence at `p` (with `left` bytes up to the end), 0 if there is none.
std::size_t sequence_length(const unsigned char* p, std::size_t left) {
  const unsigned char lead = p[0];
  if (lead < 0x80) return 1;
  std::size_t length;
  unsigned char low = 0x80, high = 0xBF;  // range of the second byte
  if (lead >= 0xC2 && lead <= 0xDF) {
    length = 2;
  } else if (lead >= 0xE0 && lead <= 0xEF) {
    length = 3;
    if (lead == 0xE0) low = 0xA0;   // overlong below
    if (lead == 0xED) high = 0x9F;  // surrogates above
  } else if (lead >= 0xF0 && lead <= 0xF4) {
    length = 4;
    if (lead == 0xF0) low = 0x90;
    if (lead == 0xF4) high = 0x8F;
  } else {
    return 0;
  }
  if (left < length || p[1] < low || p[1] > high) return 0;
  for (std::size_t i = 2; i < length; ++i)
    if ((p[i] & 0xC0) != 0x80) return 0;
  return length;
}

}  // namespace

std::size_t valid_utf8_prefix(std::string_view text) {
  const unsigned char* data = reinterpret_cast<const unsigned char*>(text.data());
  std::size_t at = 0;
  while (at < text.size()) {
    std::uint64_t word;
    if (text.size() - at >= sizeof word) {  // eight ASCII bytes at a time
      std::memcpy(&word, data + at, sizeof word);
      if ((word & 0x8080808080808080u) == 0) {
        at += sizeof word;
        continue;
      }
    }
    const std::size_t length = sequence_length(data + at, text.size() - at);
    if (length == 0) return at;
    at += length;
  }
  return at;
}

}  // namespace titan::ckpt
