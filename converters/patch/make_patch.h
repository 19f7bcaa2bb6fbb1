#pragma once
// `patch`: makes a file from which one checkpoint can be rebuilt from another, bit for bit.
#include <functional>
#include <string>
#include <vector>

#include "converters/patch/contents.h"

namespace titan::convert {

/// What to make.
struct PatchOptions {
  std::string base, target;  ///< Titan checkpoints, or safetensors; both of one kind
  std::string output;        ///< the patch file
  bool force = false;        ///< replaces `output` if it is a patch
  unsigned threads = 0;      ///< 0: a number that suits disk and cores
  std::string writer;
  ckpt::CancelToken cancel;
  std::function<void(std::uint64_t done, std::uint64_t total)> progress;  ///< bytes of the target
};

struct PatchReport {
  std::string base, target, output;
  PatchSide base_side, target_side;
  std::uint64_t target_bytes = 0, patch_bytes = 0;
  std::uint64_t
      tensors = 0,
      equal_tensors = 0,
      whole_tensors =
          0;  ///< tensors of the target: all; those without a difference; those without a counterpart in the base
  std::vector<std::string> notes;
};

/// Writes the patch; it appears complete or not at all. Reads each byte of the target once, and of the base at most
/// once. A Titan target is read a second time, to verify it. Needs 5 to 12 MiB per thread, and 16 bytes for each MiB of
/// a base that is not a Titan checkpoint. \error kInvalid (names, or two kinds of checkpoints), kNotFound,
/// kIncompatible (nothing in common), kUnsupported (other formats), kCorrupt, kMediaError, kFailed, kInterrupted,
/// kTerminated
Result<PatchReport> make_patch(Fs& fs, const PatchOptions& options);

}  // namespace titan::convert
