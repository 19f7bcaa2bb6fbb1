#pragma once
// Refuses inputs of `tokenize` that are not text, with a hint on what to do with them instead.
#include <string>

#include "ckpt/base/file_kind.h"
#include "ckpt/base/status.h"

namespace titan::ckpt {
class Fs;
}

namespace titan::corpus {

/// "standard input" for "-", else the path in quotes.
std::string shown_input(const std::string& input);

/// Refuses a token folder as an input. \error kInvalid: `path` is a token folder
ckpt::Status check_no_token_folder(ckpt::Fs& fs, const std::string& path);

/// Refuses an input that cannot be text, judged by its name, by its `kind` and by an index file next to it. \error
/// kInvalid: token ids, a table (Parquet, Arrow), UTF-16, an archive or another binary file; the hint says what to do
ckpt::Status check_is_text(ckpt::Fs& fs, const std::string& input, ckpt::FileKind kind);

}  // namespace titan::corpus
