#pragma once
// Why an input is not the text that tokens are made of, and what to do with it instead.
#include <string>

#include "ckpt/base/status.h"
#include "ckpt/base/what_is_this.h"

namespace titan::ckpt {
class Fs;
}

namespace titan::corpus {

/// "standard input" for "-", else the path in quotes.
std::string shown_input(const std::string& input);

/// Looks whether the folder `path` is one of token ids. \error kInvalid: it is
ckpt::Status check_no_token_folder(ckpt::Fs& fs, const std::string& path);

/// Looks by its name, its beginning and what lies beside it whether `input` can be text. \error kInvalid: token ids, a
/// table, an archive or another binary file, with the way on as the hint
ckpt::Status check_is_text(ckpt::Fs& fs, const std::string& input, ckpt::FileKind kind);

}  // namespace titan::corpus
