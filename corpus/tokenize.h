#pragma once
// Texts become a folder of token ids: documents in the order of their files, on all cores, in bounded memory.
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ckpt/base/cancel.h"
#include "ckpt/base/fs.h"
#include "corpus/document_reader.h"
#include "corpus/token_data.h"

namespace titan::recipe {
class Tokenizer;
}

namespace titan::corpus {

struct TokenizeOptions {
  InputOptions input;
  std::string field = "text";  ///< of a line of JSON lines
  bool completions = false;    ///< lines have `prompt` and `completion` in its place, and the latter is trained on
  std::string messages;        ///< lines have `messages`, for this template (dialogue.h); "": they have not
  std::string dst;
  std::string tokenizer;  ///< folder or file
  std::optional<std::string> before,
      behind;                      ///< token that begins, ends each document; "": none; unset: the tokenizer's
  bool replace_malformed = false;  ///< bytes that are no UTF-8 become U+FFFD
  bool force = false;              ///< replace `dst` where it is a folder of tokens
  bool dry_run = false;            ///< read and encode, write nothing
  bool in_own_run = false;         ///< `dst` lies in a run whose lock the caller holds
  std::uint64_t shard_bytes = std::uint64_t{1} << 30;
  unsigned threads = 0;  ///< 0: one a core
  ckpt::CancelToken cancel;
  std::function<void(std::uint64_t done, std::uint64_t total)> progress;  ///< bytes of the files; total 0: not known
};

struct TokenizeReport {
  std::string dst, tokenizer;
  TokenData data;
  std::uint64_t files = 0, empty = 0;  ///< empty: texts and lines without a character
  bool written = false;
  double seconds = 0;
  std::vector<std::string> warnings;
};

/// The ids that stand around each document.
struct Borders {
  std::vector<std::uint32_t> before, behind;
  bool operator==(const Borders&) const = default;
};
/// Those of `tokenizer`, or tokens that are named instead (TokenizeOptions). \error kInvalid: it has no such token, or
/// says none that ends a document
ckpt::Result<Borders> borders_of(const recipe::Tokenizer& tokenizer, const std::optional<std::string>& before = {},
                                 const std::optional<std::string>& behind = {});

/// \error kInvalid: input, tokenizer or names that cannot be used, text that is not UTF-8 (file, document, offset), no
/// document at all; kUnsupported: the tokenizer; kLocked, kFailed, kCorrupt (a damaged archive), kInterrupted,
/// kTerminated. After an error `dst` is as it was.
ckpt::Result<TokenizeReport> tokenize(ckpt::Fs& fs, const TokenizeOptions& options);

}  // namespace titan::corpus
