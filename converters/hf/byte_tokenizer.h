#pragma once
// The byte tokenizer as files for Hugging Face's tokenizers: token id b is the byte b, there are no merges and no
// special tokens.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace titan::convert {

/// The text of tokenizer.json. \source https://huggingface.co/docs/tokenizers: model "BPE", pre-tokenizer and decoder
/// "ByteLevel"
const std::string& byte_tokenizer_json();
/// The text of tokenizer_config.json. `longest`: the model's context length in tokens, if known.
std::string byte_tokenizer_config(std::optional<std::uint64_t> longest);
/// Whether `json` is equivalent to byte_tokenizer_json(), in any formatting.
bool is_byte_tokenizer(std::string_view json);

}  // namespace titan::convert
