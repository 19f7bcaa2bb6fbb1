#pragma once
// `titan-ckpt tokens`: shows a token folder or a file of token ids. Counts tokens and documents, decodes documents to
// text, and checks digests or ids.
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ckpt/base/cancel.h"
#include "corpus/token_data.h"
#include "corpus/token_file.h"

namespace titan::ckpt {
class Fs;
}

namespace titan::corpus {

struct InspectTokensOptions {
  std::string folder;           ///< path of a token folder, of a file of ids, or of a Megatron pair without ending
  std::uint32_t raw_bytes = 2;  ///< bytes per id (2 or 4), for a file that does not record them
  std::string tokenizer;        ///< tokenizer that decodes the shown documents; empty: the one in the folder
  std::uint64_t show = 0;       ///< number of documents to show, from the first on
  bool verify = false;          ///< calls verify_tokens(); for a file: checks that no id is negative
  std::uint64_t most = 1000;    ///< maximum number of tokens shown per document
  ckpt::CancelToken cancel;
  std::function<void(std::uint64_t done, std::uint64_t total)> progress;  ///< progress in verified bytes
};

struct ShownDocument {
  std::uint64_t tokens = 0;  ///< number of tokens of the whole document
  bool cut = false;          ///< `text` has only the first InspectTokensOptions::most tokens
  std::string text;
  bool operator==(const ShownDocument&) const = default;
};

struct InspectTokensReport {
  std::string folder;  ///< path of the folder or file
  /// Content of data.json. For a file of ids only the counts are set, and if verified the vocabulary: largest id + 1.
  TokenData data;
  std::vector<ShownDocument> shown;
  bool verified = false;
  std::optional<TokenFile> file;  ///< set for a file of ids
};

/// Reads what `options` ask for. \error kInvalid: the folder or file does not exist or is incomplete, or the tokenizer
/// is not the one of the ids; kUnsupported: as open_token_file() and Tokenizer::parse(); kCorrupt: a file has another
/// size, a digest does not match, or a document end or an id is impossible; kMediaError, kFailed, kInterrupted,
/// kTerminated
ckpt::Result<InspectTokensReport> inspect_tokens(ckpt::Fs& fs, const InspectTokensOptions& options);

/// Reads every shard and the tokenizer of the token folder InspectTokensOptions::folder, and compares their digests
/// with those in `data`, the content of its data.json. Checks that every id is smaller than the vocabulary. \error
/// kCorrupt, kMediaError, kFailed, kInterrupted, kTerminated
ckpt::Status verify_tokens(ckpt::Fs& fs, const InspectTokensOptions& options, const TokenData& data);

}  // namespace titan::corpus
