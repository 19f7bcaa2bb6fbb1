#pragma once
// The files of a tokenizer in a Hugging Face folder.
#include <string>

#include "recipe/text/tokenizer.h"

namespace titan::ckpt {
class Fs;
}

namespace titan::corpus {

struct TokenizerFiles {
  std::string path;    ///< path of tokenizer.json
  std::string json;    ///< its text
  std::string config;  ///< the text of tokenizer_config.json next to it; empty: none
};

/// Reads tokenizer.json at `path` (its folder, or the file). Follows links, since Hugging Face's cache uses them.
/// \error kInvalid: missing or too large; kFailed
ckpt::Result<TokenizerFiles> read_tokenizer_files(ckpt::Fs& fs, const std::string& path);
/// Parses the tokenizer. \error as Tokenizer::parse
ckpt::Result<recipe::Tokenizer> parse_tokenizer(const TokenizerFiles& files);

}  // namespace titan::corpus
