#pragma once
// A tokenizer as it lies in a folder of Hugging Face's.
#include <string>

#include "ckpt/base/fs.h"
#include "recipe/text/tokenizer.h"

namespace titan::corpus {

struct TokenizerFiles {
  std::string path;    ///< of tokenizer.json
  std::string json;    ///< its text
  std::string config;  ///< that of tokenizer_config.json beside it; empty: none
};

/// Reads the files of `path`: a folder with tokenizer.json, or that file. Links are followed, as Hugging Face's cache
/// has them. \error kInvalid: not there, too large; kFailed
ckpt::Result<TokenizerFiles> read_tokenizer_files(ckpt::Fs& fs, const std::string& path);
/// The tokenizer that they are. \error as Tokenizer::parse
ckpt::Result<recipe::Tokenizer> parse_tokenizer(const TokenizerFiles& files);

}  // namespace titan::corpus
