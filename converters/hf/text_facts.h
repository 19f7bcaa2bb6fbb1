#pragma once
// Facts about a model's tokenizer and context, from the files that came with the model.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ckpt/base/result.h"
#include "ckpt/read/model_files.h"

namespace titan::ckpt {
class Fs;
}

namespace titan::convert {

/// What the files say about the tokenizer and the context length.
struct TextFacts {
  bool byte_tokenizer = false;             ///< tokenizer.json is the byte tokenizer's (byte_tokenizer.h)
  bool tokenizer = false;                  ///< there is a tokenizer other than the byte tokenizer
  std::string tokenizer_json;              ///< the text of its tokenizer.json; empty: there is none
  std::string tokenizer_config;            ///< the text of its tokenizer_config.json
  std::vector<std::int64_t> ends;          ///< end-of-text tokens, from generation_config.json, else from config.json
  std::optional<std::uint64_t> positions;  ///< max_position_embeddings
  bool operator==(const TextFacts&) const = default;
};

/// Reads the facts from those of `files` that are Hugging Face's. \error kCorrupt, kFailed
ckpt::Result<TextFacts> read_text_facts(ckpt::Fs& fs, const std::vector<ckpt::ModelFilePlace>& files);

}  // namespace titan::convert
