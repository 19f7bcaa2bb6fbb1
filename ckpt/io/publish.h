#pragma once
// The end of every save: the manifest and the commit. Used by the writer, and by tools that rewrite checkpoints.
// \source FORMAT.md, "Commit protocol" steps 3 to 5
#include <string>

#include "ckpt/base/fs.h"
#include "ckpt/format/layout.h"
#include "ckpt/io/writer.h"

namespace titan::ckpt {

/// Puts `manifest` into `tmp_dir` (temporary name, sync, rename, sync of the folder) after checking that every member
/// lies there with its size and that the text reads back as the same manifest, within the `limit` of readers. \error
/// kFailed
Status write_manifest(Fs& fs, const std::string& tmp_dir, const Manifest& manifest,
                      std::uint64_t limit = kMaxManifestBytes);

/// Makes a folder in the temporary of a save, or takes the empty one that is there. \error kFailed
Status make_own_dir(Fs& fs, const std::string& path);

/// Returns the entry of component "model" or "optimizer" for the files and parameters of `manifest`.
ComponentEntry tensor_component(const Manifest& manifest, const char* name);

/// Renames `tmp_dir` to `<checkpoint_dir>/step-%08d` and makes it durable; see commit_save.
Result<Published> publish(Fs& fs, const std::string& checkpoint_dir, const std::string& tmp_dir,
                          const Manifest& manifest, const CommitOptions& options = {});

}  // namespace titan::ckpt
