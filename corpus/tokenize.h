#pragma once
// `titan-ckpt tokenize`: tokenizes texts into a token folder. Documents keep the order of the inputs; up to 64 cores
// are used; memory is bounded.
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
  bool completions = false;    ///< a JSON line has `prompt` and `completion`; only the completion is trained on
  std::string messages;        ///< path of the chat template (dialogue.h), if a JSON line has `messages`; else empty
  std::string dst;             ///< path of the token folder to write
  std::string tokenizer;       ///< path of a tokenizer.json, or of its folder
  std::optional<std::string> before,
      behind;  ///< token (as text) at the beginning and end of each document; "": none; unset: the tokenizer's
  bool replace_malformed = false;                      ///< bytes that are not UTF-8 become U+FFFD
  bool force = false;                                  ///< replace `dst` if it is a token folder
  bool dry_run = false;                                ///< read and encode, write nothing
  bool in_own_run = false;                             ///< `dst` is in a run folder whose lock the caller holds
  std::uint64_t shard_bytes = std::uint64_t{1} << 30;  ///< size of a shard's token file (DataWriter)
  unsigned threads = 0;                                ///< at most 64 are used; 0: one per core
  ckpt::CancelToken cancel;
  /// Called with stored bytes of the inputs; `total` 0: not known.
  std::function<void(std::uint64_t done, std::uint64_t total)> progress;
};

struct TokenizeReport {
  std::string dst, tokenizer;          ///< paths; `tokenizer`: of tokenizer.json
  TokenData data;                      ///< without shards and their digests if nothing was written
  std::uint64_t files = 0, empty = 0;  ///< numbers of input files, and of empty texts and lines, which are skipped
  bool written = false;                ///< false for a dry run
  double seconds = 0;
  std::vector<std::string> warnings;
};

/// The ids that are put before and after each document.
struct Borders {
  std::vector<std::uint32_t> before, behind;
  bool operator==(const Borders&) const = default;
};
/// The ids of the tokens `before` and `behind` (as in TokenizeOptions). An unset `before` is the tokenizer's own
/// prefix; an unset `behind` is its end-of-sequence token, else its own suffix. \error kInvalid: the tokenizer lacks
/// the token, or `behind` is unset and the tokenizer has neither end-of-sequence token nor suffix
ckpt::Result<Borders> borders_of(const recipe::Tokenizer& tokenizer, const std::optional<std::string>& before = {},
                                 const std::optional<std::string>& behind = {});

/// Tokenizes all inputs into a temporary folder, and renames it to `dst` when it is complete. After an error before the
/// rename, `dst` is unchanged. \error kInvalid: an input, the tokenizer or `dst` cannot be used, text is not UTF-8 (the
/// message has file, document and offset), or there is no document; kUnsupported: a tokenizer or chat template of
/// another kind; kCorrupt: damaged compression; kLocked, kMediaError, kFailed, kInterrupted, kTerminated
ckpt::Result<TokenizeReport> tokenize(ckpt::Fs& fs, const TokenizeOptions& options);

}  // namespace titan::corpus
