#pragma once
// The characters that stand for bytes in byte-level vocabularies. Pure.
// \source GPT-2's bytes_to_unicode: https://github.com/openai/gpt-2/blob/master/src/encoder.py
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace titan::recipe {

/// The byte that `code` stands for; nullopt for other code points.
std::optional<std::uint8_t> byte_of_letter(std::uint32_t code);
/// The bytes that the characters of a token stand for; nullopt if one of them stands for no byte.
std::optional<std::string> bytes_of_letters(std::string_view token);

}  // namespace titan::recipe
