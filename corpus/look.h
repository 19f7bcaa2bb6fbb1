#pragma once
// What a folder of tokens holds: its numbers, documents as text, its digests.
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "ckpt/base/cancel.h"
#include "ckpt/base/fs.h"
#include "corpus/token_data.h"

namespace titan::corpus {

struct LookOptions {
  std::string folder;
  std::string tokenizer;      ///< to show documents with; empty: the one in the folder
  std::uint64_t show = 0;     ///< so many documents from the first on
  bool verify = false;        ///< read all and compare the digests
  std::uint64_t most = 1000;  ///< tokens of a document that are shown
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
};

/// \error kInvalid: no such folder, not whole, a tokenizer with other ids; kCorrupt: a digest, an end or an id that
/// cannot be; kFailed, kInterrupted, kTerminated
ckpt::Result<LookReport> look(ckpt::Fs& fs, const LookOptions& options);

}  // namespace titan::corpus
