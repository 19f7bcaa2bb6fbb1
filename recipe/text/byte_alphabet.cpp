#include "recipe/text/byte_alphabet.h"

#include <array>

#include "ckpt/base/utf8.h"

namespace titan::recipe {
namespace {

constexpr std::uint32_t kFirstMoved = 0x100;  // for bytes that are not a visible character of Latin-1
constexpr std::uint32_t kEnd = 0x144;

constexpr bool stays(std::uint32_t byte) {
  return (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
}

struct Alphabet {
  std::array<std::int16_t, kEnd> byte{};
  constexpr Alphabet() {
    for (std::int16_t& b : byte) b = -1;
    std::uint32_t moved = kFirstMoved;
    for (std::uint32_t b = 0; b < 256; ++b) byte[stays(b) ? b : moved++] = static_cast<std::int16_t>(b);
  }
};
constexpr Alphabet kAlphabet;

}  // namespace

std::optional<std::uint8_t> byte_of_letter(std::uint32_t code) {
  if (code >= kEnd || kAlphabet.byte[code] < 0) return std::nullopt;
  return static_cast<std::uint8_t>(kAlphabet.byte[code]);
}

std::optional<std::string> bytes_of_letters(std::string_view token) {
  std::string bytes;
  while (!token.empty()) {
    const ckpt::Utf8Char character = ckpt::decode_utf8(token);
    const auto byte = character.bytes == 0 ? std::nullopt : byte_of_letter(character.code);
    if (!byte) return std::nullopt;
    bytes += static_cast<char>(*byte);
    token.remove_prefix(character.bytes);
  }
  return bytes;
}

}  // namespace titan::recipe
