#pragma once
// Tokenizes texts into a folder of token ids: documents in the order of their files, on all cores, in bounded memory.
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ckpt/base/cancel.h"
#include "corpus/document_reader.h"
#include "corpus/token_data.h"

namespace titan::ckpt {
class Fs;
}

namespace titan::recipe {
class Tokenizer;
}

namespace titan::corpus {

struct TokenizeOptions {
  InputOptions input;
  std::string field = "text";  ///< the member with the text in a JSON line
  bool completions = false;    ///< lines have `prompt` and `completion` instead; only completions are trained on
  std::string messages;        ///< file with the chat template for lines with `messages` (dialogue.h); "": no such
                               ///< lines
  std::string dst;
  std::string tokenizer;  ///< tokenizer folder or file
  std::optional<std::string> before,
      behind;  ///< tokens at the beginning and end of each document; "": none; unset: the tokenizer's
  bool replace_malformed = false;  ///< bytes that are not UTF-8 become U+FFFD
  bool force = false;              ///< replace `dst` if it is a token folder
  bool dry_run = false;            ///< read and encode, write nothing
  bool in_own_run = false;         ///< `dst` is in a run folder whose lock the caller holds
  std::uint64_t shard_bytes = std::uint64_t{1} << 30;
  unsigned threads = 0;  ///< 0: one per core
  ckpt::CancelToken cancel;
  std::function<void(std::uint64_t done, std::uint64_t total)> progress;  ///< bytes of the files; total 0: not known
};

struct TokenizeReport {
  std::string dst, tokenizer;
  TokenData data;
  std::uint64_t files = 0, empty = 0;  ///< `empty`: number of skipped empty texts and lines
  bool written = false;
  double seconds = 0;
  std::vector<std::string> warnings;
};

/// The ids before and after each document.
struct Borders {
  std::vector<std::uint32_t> before, behind;
  bool operator==(const Borders&) const = default;
};
/// The ids of `tokenizer`, or of the tokens named in TokenizeOptions. \error kInvalid: the tokenizer does not have the
/// token, or has no end-of-document token
ckpt::Result<Borders> borders_of(const recipe::Tokenizer& tokenizer, const std::optional<std::string>& before = {},
                                 const std::optional<std::string>& behind = {});

/// Tokenizes. \error kInvalid: unusable input, tokenizer or names, text that is not UTF-8 (file, document, offset), no
/// document at all; kUnsupported: the tokenizer; kLocked, kFailed, kCorrupt (a damaged archive), kInterrupted,
/// kTerminated. After an error `dst` is unchanged.
ckpt::Result<TokenizeReport> tokenize(ckpt::Fs& fs, const TokenizeOptions& options);

}  // namespace titan::corpus
