#pragma once
// What a folder of tokens or a file of ids holds: its numbers, documents as text, its digests or its index.
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ckpt/base/cancel.h"
#include "ckpt/base/fs.h"
#include "corpus/token_data.h"
#include "corpus/token_file.h"

namespace titan::corpus {

struct LookOptions {
  std::string folder;           ///< or a file of ids
  std::uint32_t raw_bytes = 2;  ///< of an id, in a file that does not say it
  std::string tokenizer;        ///< to show documents with; empty: the one in the folder
  std::uint64_t show = 0;       ///< so many documents from the first on
  bool verify = false;          ///< verify_tokens(); of a file: look for ids that are none
  std::uint64_t most = 1000;    ///< tokens of a document that are shown
  ckpt::CancelToken cancel;
  std::function<void(std::uint64_t done, std::uint64_t total)> progress;  ///< bytes that were verified
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
  std::optional<TokenFile> file;  ///< what is looked at where it is no folder; `data` has its numbers, no vocabulary
                                  ///< before it is verified
};

/// \error kInvalid: no such folder or file, not whole, a tokenizer with other ids; kCorrupt: a digest, an end or an id
/// that cannot be; kFailed, kInterrupted, kTerminated
ckpt::Result<LookReport> look(ckpt::Fs& fs, const LookOptions& options);

/// Reads every byte of the folder of tokens that LookOptions::folder names and `data` is the data.json of, and compares
/// it with its digests, the tokenizer, too; every id is one of the vocabulary. \error kCorrupt, kMediaError, kFailed,
/// kInterrupted, kTerminated
ckpt::Status verify_tokens(ckpt::Fs& fs, const LookOptions& options, const TokenData& data);

}  // namespace titan::corpus
