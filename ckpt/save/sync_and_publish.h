#pragma once
// The end of every save: the manifest and the commit, with their order of fsyncs and renames. Used by saves and by
// tools that rewrite checkpoints.
// \source FORMAT.md, "Commit protocol" steps 3 to 5
#include <functional>
#include <string>
#include <vector>

#include "ckpt/format/layout.h"
#include "ckpt/format/manifest.h"
#include "ckpt/model/read_back.h"

namespace titan::ckpt {

class Fs;

/// Puts `manifest` into `tmp_dir` (temporary name, sync, rename, sync of the folder) after checking that every member
/// lies there with its size and that the text reads back as the same manifest, within the `limit` of readers. Unless
/// `how` is kOff the file is read again past the page cache. \error kFailed
Status write_manifest(Fs& fs, const std::string& tmp_dir, const Manifest& manifest,
                      std::uint64_t limit = kMaxManifestBytes, ReadBack how = ReadBack::kOff);

struct Published {
  std::string path;  ///< final folder
  Digest id;
  std::uint64_t bytes = 0;
  bool already_there = false;  ///< a step of the same id was there, and every byte of it was read
  bool read_whole = false;     ///< every byte of the step was read from the store; else as the snapshot asked
  std::string damaged_aside;   ///< where a damaged step of the same number was moved; empty: there was none
  /// What lay in the way unexpectedly, what failed after the commit (`latest`), limits that are near.
  std::vector<std::string> warnings;
};

struct CommitOptions {
  /// The step of that number that lies there was found damaged while loading, by two readers: its digests fail, though
  /// it looks whole.
  bool known_damaged = false;
  /// Asked right before each rename: anything but ok ends the save, and nothing is published.
  std::function<Status()> still_ours;
};

/// Renames `tmp_dir` to `<checkpoint_dir>/step-%08d` and makes it durable. What has that name already is taken for this
/// step only where its id is equal and every byte of it was read now. Else it is moved aside, with its `.keep`: a
/// damaged one to `.damaged-step-N-<id>`, another checkpoint to `.foreign-step-N-<id>`, which nothing ever deletes.
Result<Published> publish(Fs& fs, const std::string& checkpoint_dir, const std::string& tmp_dir,
                          const Manifest& manifest, const CommitOptions& options = {});

}  // namespace titan::ckpt
