#pragma once
// `parity`: adds parity files to a checkpoint, or removes them, in place.
#include <cstdint>
#include <string>
#include <vector>

#include "ckpt/base/cancel.h"
#include "ckpt/base/hash.h"
#include "ckpt/read/verifier.h"

namespace titan::ckpt {

struct ParityOptions {
  std::string ckpt;         ///< as resolve_checkpoint takes it
  std::uint32_t files = 0;  ///< parity files per group of members; 0: remove all parity files
  VerifyProgress progress;  ///< progress of the verification, then of the making of parity files
  unsigned threads = 0;     ///< for the verification; 0: as io_threads()
  CancelToken cancel;
};

struct ParityReport {
  std::string path;
  Digest id;
  std::uint32_t before = 0, after = 0;  ///< parity files per group
  std::uint64_t files = 0, bytes = 0;   ///< number and bytes of all parity files afterwards; 0 unless `changed`
  bool changed = false;
  std::vector<std::string> warnings;
};

/// Verifies the checkpoint and replaces it by one with the same members, the same id and the wanted parity files.
/// Parity files that are lost or damaged are made again. Other members are hard-linked or copied. A crash at any moment
/// leaves either the old or the new checkpoint. \error kCorrupt (a member is damaged: parity would preserve the
/// damage), kLocked (a run or another tool holds the lock), kInvalid (the step is pinned or has files of users),
/// kNotFound, kFailed, kMediaError, kIncompatible (newer format), kInterrupted, kTerminated
Result<ParityReport> set_parity(Fs& fs, const ParityOptions& options);

}  // namespace titan::ckpt
