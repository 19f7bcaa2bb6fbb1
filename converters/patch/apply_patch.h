#pragma once
// `apply`: reconstructs the target checkpoint of a patch from the base checkpoint.
#include <functional>
#include <string>
#include <vector>

#include "converters/patch/contents.h"

namespace titan::convert {

struct ApplyOptions {
  std::string base, patch, output;
  bool force = false;    ///< replaces `output` if it is a folder with a checkpoint of the target's kind
  unsigned threads = 0;  ///< 0: a number that suits disk and cores
  ckpt::CancelToken cancel;
  std::function<void(std::uint64_t done, std::uint64_t total)> progress;  ///< bytes written, then read back
};

struct ApplyReport {
  std::string base, patch, output;
  PatchSide target;
  std::uint64_t step = 0;  ///< the target's step, if it is a Titan checkpoint
  std::uint64_t bytes = 0, patch_bytes = 0, files = 0;
  std::vector<std::string> notes;
};

/// Writes the target, byte for byte. The target appears complete or not at all. Before publishing it, reads all of it
/// back and checks its id against the patch. \error kInvalid (names, not a patch), kNotFound, kUnsupported (a base of
/// another format, another kind of file in place of the patch), kIncompatible (another base, with both ids in the
/// message; a newer patch), kCorrupt (a damaged patch or base), kLocked, kMediaError, kFailed, kInterrupted,
/// kTerminated
Result<ApplyReport> apply_patch(Fs& fs, const ApplyOptions& options);

}  // namespace titan::convert
