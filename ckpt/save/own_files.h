#pragma once
// Whether a checkpoint folder holds only files that Titan wrote. Only such a folder may be replaced as a whole.
#include <string>

#include "ckpt/base/fs.h"
#include "ckpt/format/manifest.h"

namespace titan::ckpt {

/// The first file in `folder` that is neither a member of `manifest` nor another file of Titan (manifest, signature,
/// pin, parity), so it is a user's. Empty if there is none; folders without files do not count. \error kFailed
Result<std::string> foreign_file(Fs& fs, const std::string& folder, const Manifest& manifest);

/// Checks that the checkpoint `folder` has no file that a replacement would lose. \error kInvalid, which names one;
/// kIncompatible, kCorrupt (the manifest cannot be read, so the files cannot be judged), kFailed
Status check_own_files(Fs& fs, const std::string& folder);

}  // namespace titan::ckpt
