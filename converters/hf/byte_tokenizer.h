#pragma once
// The byte tokenizer as Hugging Face's files: id b is the byte b, nothing is merged, and there are no special tokens.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace titan::convert {

/// tokenizer.json. \source https://huggingface.co/docs/tokenizers: model "BPE", pre-tokenizer and decoder "ByteLevel"
const std::string& byte_tokenizer_json();
/// tokenizer_config.json. `longest`: the model's context length in tokens, if known.
std::string byte_tokenizer_config(std::optional<std::uint64_t> longest);
/// Whether `json` is equivalent to byte_tokenizer_json(), in any formatting.
bool is_byte_tokenizer(std::string_view json);

}  // namespace titan::convert
