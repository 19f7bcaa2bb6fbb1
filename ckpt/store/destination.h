#pragma once
// Where tools may write.
#include <cstdint>
#include <optional>
#include <string>

#include "ckpt/base/fs.h"

namespace titan::ckpt {

/// Checks that `path`, which need not be there, lies in no published checkpoint, at any depth. \error kInvalid naming
/// the checkpoint
Status check_outside_checkpoints(Fs& fs, const std::string& path);

/// Checks that the file `out`, which need not be there, may be made or replaced: it is named as a file, it is a plain
/// file where it is there (a rename would put a file where a link or device was), and it lies in no published
/// checkpoint. \error kInvalid
Status check_output_file(Fs& fs, const std::string& out);

/// The text of a small file of our own that is made anew at `path`: "" where none is there, nothing where it is longer
/// than `most` bytes and so something else. \error as check_output_file; kMediaError, kFailed
Result<std::optional<std::string>> text_to_replace(Fs& fs, const std::string& path, std::uint64_t most);

}  // namespace titan::ckpt
