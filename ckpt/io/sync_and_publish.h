#pragma once
// The end of every save: the manifest and the commit, with their order of fsyncs and renames. Used by saves and by
// tools that rewrite checkpoints.
// \source FORMAT.md, "Commit protocol" steps 3 to 5
#include <functional>
#include <string>
#include <vector>

#include "ckpt/format/layout.h"
#include "ckpt/format/manifest.h"

namespace titan::ckpt {

class Fs;

/// Puts `manifest` into `tmp_dir` (temporary name, sync, rename, sync of the folder) after checking that every member
/// lies there with its size and that the text reads back as the same manifest, within the `limit` of readers. \error
/// kFailed
Status write_manifest(Fs& fs, const std::string& tmp_dir, const Manifest& manifest,
                      std::uint64_t limit = kMaxManifestBytes);

struct Published {
  std::string path;  ///< final folder
  Digest id;
  std::uint64_t bytes = 0;
  bool already_there = false;         ///< an equal valid step existed; the new one was dropped
  std::string damaged_aside;          ///< where a damaged step of the same number was moved; empty: there was none
  std::vector<std::string> warnings;  ///< what did no harm: failures after the commit (`latest`), limits that are near
};

struct CommitOptions {
  /// The step of that number that lies there was found damaged while loading, by two readers: its digests fail, though
  /// it looks whole.
  bool known_damaged = false;
  /// Asked right before each rename: anything but ok ends the save, and nothing is published.
  std::function<Status()> still_ours;
};

/// Renames `tmp_dir` to `<checkpoint_dir>/step-%08d` and makes it durable; see commit_save.
Result<Published> publish(Fs& fs, const std::string& checkpoint_dir, const std::string& tmp_dir,
                          const Manifest& manifest, const CommitOptions& options = {});

}  // namespace titan::ckpt
