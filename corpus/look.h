#pragma once
// Shows a token folder or a file of token ids: counts, documents as text, and whether digests or the index are correct.
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

struct LookOptions {
  std::string folder;           ///< token folder, or a file of token ids
  std::uint32_t raw_bytes = 2;  ///< bytes of an id, for a file that does not record them
  std::string tokenizer;        ///< to show documents with; empty: the one in the folder
  std::uint64_t show = 0;       ///< number of documents to show, from the first on
  bool verify = false;          ///< calls verify_tokens(); for a file: looks for invalid ids
  std::uint64_t most = 1000;    ///< maximum number of tokens shown per document
  ckpt::CancelToken cancel;
  std::function<void(std::uint64_t done, std::uint64_t total)> progress;  ///< progress in verified bytes
};

struct ShownDocument {
  std::uint64_t tokens = 0;
  bool cut = false;  ///< only the first LookOptions::most are in `text`
  std::string text;
  bool operator==(const ShownDocument&) const = default;
};

struct LookReport {
  std::string folder;
  TokenData data;
  std::vector<ShownDocument> shown;
  bool verified = false;
  std::optional<TokenFile> file;  ///< set for a file; `data` then has its counts, and the vocabulary only if verified
};

/// \error kInvalid: no such folder or file, an incomplete one, a tokenizer with other ids; kCorrupt: a wrong digest, an
/// impossible document end or id; kFailed, kInterrupted, kTerminated
ckpt::Result<LookReport> look(ckpt::Fs& fs, const LookOptions& options);

/// Reads every byte of the token folder LookOptions::folder, whose data.json is `data`, and compares it with the
/// digests, including the tokenizer's. Checks that every id is in the vocabulary. \error kCorrupt, kMediaError,
/// kFailed, kInterrupted, kTerminated
ckpt::Status verify_tokens(ckpt::Fs& fs, const LookOptions& options, const TokenData& data);

}  // namespace titan::corpus
