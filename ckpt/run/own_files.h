#pragma once
// What in the folder of a checkpoint Titan wrote, and what somebody else put there: no replacement and no deletion
// loses the latter.
#include <string>
#include <vector>

#include "ckpt/base/cancel.h"
#include "ckpt/format/manifest.h"

namespace titan::ckpt {

class Fs;

/// The first file in `folder` that is neither a member of `manifest` nor another file of ours (manifest, signature,
/// pin, parity): a user's. Empty if there is none; folders without files do not count. \error kFailed
Result<std::string> foreign_file(Fs& fs, const std::string& folder, const Manifest& manifest);

/// Checks that the checkpoint `folder` has no file that a replacement would lose. \error kInvalid, which names one;
/// kIncompatible, kCorrupt (the manifest cannot be read, so nobody knows), kFailed
Status check_own_files(Fs& fs, const std::string& folder);

/// What remove_step_files() would keep of `folder`: paths relative to it. The manifest is read only if names alone do
/// not say whose a file is. \error kFailed
Result<std::vector<std::string>> files_of_users(Fs& fs, const std::string& folder);

/// Removes `folder`, a step that goes, but moves files of users to the folder `kept`, under the paths that they had.
/// `*moved` is set if there was any. What cannot be moved stays in `folder`, with the manifest; everything else goes.
/// \error kFailed; kInterrupted, kTerminated (`cancel`, asked before each file)
Status remove_step_files(Fs& fs, const std::string& folder, const std::string& kept, bool* moved,
                         const CancelToken& cancel = {});

}  // namespace titan::ckpt
