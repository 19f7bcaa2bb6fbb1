#pragma once
// Tells files that Titan wrote into the folder of a checkpoint from files of users, which no replacement and no
// deletion may lose.
#include <string>
#include <vector>

#include "ckpt/base/cancel.h"
#include "ckpt/format/manifest.h"

namespace titan::ckpt {

class Fs;

/// The first file of a user in `folder`: neither a member of `manifest` nor another file of Titan (manifest, signature,
/// pin, parity). Empty if there is none; folders without files do not count. \error kFailed
Result<std::string> foreign_file(Fs& fs, const std::string& folder, const Manifest& manifest);

/// Checks that the checkpoint `folder` has no file of a user, which a replacement would lose. \error kInvalid, which
/// names one; as read_manifest() (the manifest lists the members); kFailed
Status check_own_files(Fs& fs, const std::string& folder);

/// The files that remove_step_files() would keep, as paths relative to `folder`. The manifest is read only for files
/// whose names are not known. \error kFailed
Result<std::vector<std::string>> files_of_users(Fs& fs, const std::string& folder);

/// Removes the step `folder`, but moves files of users to the folder `kept`, under the same relative paths. Sets
/// `*moved` if there were such files. If a file cannot be moved, it and the manifest stay in `folder`; all else is
/// removed.
/// \error kFailed; kInterrupted, kTerminated (by `cancel`, checked before each file)
Status remove_step_files(Fs& fs, const std::string& folder, const std::string& kept, bool* moved,
                         const CancelToken& cancel = {});

}  // namespace titan::ckpt
