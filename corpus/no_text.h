#pragma once
// Why an input cannot be tokenized as text, and what to do with it instead.
#include <string>

#include "ckpt/base/file_kind.h"
#include "ckpt/base/status.h"

namespace titan::ckpt {
class Fs;
}

namespace titan::corpus {

/// "standard input" for "-", else the path in quotes.
std::string shown_input(const std::string& input);

/// Checks that the folder `path` is not a token folder. \error kInvalid: it is
ckpt::Status check_no_token_folder(ckpt::Fs& fs, const std::string& path);

/// Judges by name, beginning and neighbouring files whether `input` can be text. \error kInvalid: token ids, a table,
/// an archive or another binary file; the hint says what to do
ckpt::Status check_is_text(ckpt::Fs& fs, const std::string& input, ckpt::FileKind kind);

}  // namespace titan::corpus
