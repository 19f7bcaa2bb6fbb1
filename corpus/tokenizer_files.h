#pragma once
// Reads a tokenizer's files from a Hugging Face folder.
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

/// Reads the tokenizer at `path`: its folder, or its tokenizer.json. Follows symbolic links, since Hugging Face's cache
/// consists of them. \error kInvalid: there is no tokenizer.json, or a file is larger than Tokenizer::kLargestFile;
/// kMediaError, kFailed
ckpt::Result<TokenizerFiles> read_tokenizer_files(ckpt::Fs& fs, const std::string& path);
/// Parses the files to a tokenizer. \error as Tokenizer::parse
ckpt::Result<recipe::Tokenizer> parse_tokenizer(const TokenizerFiles& files);

}  // namespace titan::corpus
