#pragma once
// The end of every save and rewrite: writes the manifest and publishes, with the required order of fsyncs and renames.
// \source FORMAT.md, "Commit protocol" steps 3 to 5
#include <functional>
#include <string>
#include <vector>

#include "ckpt/format/manifest.h"
#include "ckpt/format/member_names.h"
#include "ckpt/model/read_back.h"

namespace titan::ckpt {

class Fs;

/// Writes `manifest` into `tmp_dir` (temporary name, sync, rename, sync of the folder). Checks first that every member
/// is in `tmp_dir` with its size, that the text decodes to the same manifest, and that it has at most `limit` bytes.
/// Unless `how` is kOff, the file is then read back past the page cache. \error kFailed
Status write_manifest(Fs& fs, const std::string& tmp_dir, const Manifest& manifest,
                      std::uint64_t limit = kMaxManifestBytes, ReadBack how = ReadBack::kOff);

/// The result of publish().
struct Published {
  std::string path;  ///< the published step's folder
  Digest id;
  std::uint64_t bytes = 0;
  bool already_there = false;  ///< a step with the same id existed, and all its bytes, read now, match their digests
  bool read_whole = false;     ///< every byte of the step was read back; else only what Snapshot::read_back asks for
  std::string damaged_aside;   ///< where a damaged step of the same number was moved; empty: there was none
  /// An unexpected folder under the name of the step, a failure after the commit (`latest`), and near_limits().
  std::vector<std::string> warnings;
};

/// Options of publish().
struct CommitOptions {
  /// True: two processes found damage in the existing step of this number while loading it, although its manifest and
  /// sizes are right.
  bool known_damaged = false;
  /// Checks that the lock of the run is still held; called right before an existing step is moved aside, and right
  /// before the step gets its name. An error ends the save, and nothing is published.
  std::function<Status()> still_ours;
};

/// Renames `tmp_dir` to `<checkpoint_dir>/step-%08d` and makes the name durable. An existing folder of that name stays
/// only if its id is equal and all its bytes, read now, match their digests; `tmp_dir` is then removed. Otherwise the
/// existing folder is moved aside, with its `.keep`: a damaged one to `.damaged-step-N-<id>`, another checkpoint to
/// `.foreign-step-N-<id>`, which nothing deletes. \error kIncompatible (the existing folder has a newer format),
/// kMediaError (it cannot be read), kFailed, the errors of CommitOptions::still_ours
Result<Published> publish(Fs& fs, const std::string& checkpoint_dir, const std::string& tmp_dir,
                          const Manifest& manifest, const CommitOptions& options = {});

}  // namespace titan::ckpt
