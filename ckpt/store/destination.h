#pragma once
// Checks of output paths of tools.
#include <cstdint>
#include <optional>
#include <string>

#include "ckpt/base/result.h"

namespace titan::ckpt {

class Fs;

/// Whether the real path `path` is below the real path `folder`; a folder is not below itself.
bool is_below(const std::string& path, const std::string& folder);

/// Checks that `path`, which need not exist, is not inside a published checkpoint, at any depth.
/// \error kInvalid (names the checkpoint)
Status check_outside_checkpoints(Fs& fs, const std::string& path);

/// Checks that the file `out` may be created or replaced: its path can be that of a file; if it exists, it is a regular
/// file (a rename would replace a link or a device by a file); and it is not inside a published checkpoint.
/// \error kInvalid
Status check_output_file(Fs& fs, const std::string& out);

/// The text of the small file at `path` that Titan is about to replace: "" if it does not exist; nullopt if it is
/// longer than `most` bytes, so that it must be another kind of file. \error as check_output_file; kMediaError, kFailed
Result<std::optional<std::string>> text_to_replace(Fs& fs, const std::string& path, std::uint64_t most);

}  // namespace titan::ckpt
