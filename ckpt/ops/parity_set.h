#pragma once
// `parity`: gives a checkpoint parity files, or takes them away, in its place.
#include <cstdint>
#include <string>
#include <vector>

#include "ckpt/base/cancel.h"
#include "ckpt/base/hash.h"
#include "ckpt/read/verifier.h"

namespace titan::ckpt {

struct ParityOptions {
  std::string ckpt;         ///< as resolve_checkpoint takes it
  std::uint32_t files = 0;  ///< parity files for each group of members; 0: none
  VerifyProgress progress;  ///< of the check, then of the parity
  unsigned threads = 0;     ///< of the check; 0: as many as suit disk and cores
  CancelToken cancel;
};

struct ParityReport {
  std::string path;
  Digest id;
  std::uint32_t before = 0, after = 0;  ///< parity files for each group
  std::uint64_t files = 0, bytes = 0;   ///< of all parity files now
  bool changed = false;
  std::vector<std::string> warnings;
};

/// Verifies the checkpoint, and puts one of the same members and id with other parity files in its place, or with as
/// many where some are lost or damaged. Members are linked; at any moment the old or the new one is there. \error
/// kCorrupt (a member is damaged: parity would keep it so), kLocked (a run), kInvalid (pinned), kNotFound, kFailed
Result<ParityReport> set_parity(Fs& fs, const ParityOptions& options);

}  // namespace titan::ckpt
