#pragma once
// `verify --repair`: makes a checkpoint with the id of a damaged one. Damaged files are rebuilt from parity files, or
// from their undamaged parts and donors (donors.h).
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "ckpt/ops/derive.h"
#include "ckpt/ops/donors.h"
#include "ckpt/read/verifier.h"

namespace titan::ckpt {

struct RepairOptions : RewriteOptions {
  std::vector<std::string> donors;  ///< as resolve_checkpoints takes them
  CheckpointOpener open;            ///< opens the donors
  /// Turns the name of a donor of another format into its path; empty: such donors are not accepted.
  std::function<std::string(Fs& fs, const std::string& spec)> resolve;
  VerifyProgress progress;                             ///< progress of the verification of SRC, then of DST
  std::function<void(const std::string& what)> begin;  ///< called at the start of each part of the work
  unsigned threads = 0;                                ///< for the verifications; 0: as io_threads()
};

struct RepairReport {
  std::string src, dst;
  std::uint64_t step = 0;
  Digest id;
  std::uint64_t places = 0;                 ///< number of units of SRC that were damaged or could not be read
  std::vector<std::string> files;           ///< files that were rebuilt, also the manifest and parity files
  std::vector<Donors::Contribution> given;  ///< what was taken from each donor
  std::uint64_t by_parity = 0;              ///< how many of `files` were rebuilt from parity files
  std::vector<Damage> lost;  ///< leaves and members that could not be found, at most 10,000; if any, nothing is written
  std::uint64_t not_named = 0;  ///< number of further lost leaves and members
  bool written = false;
  std::vector<std::string> warnings;
  /// Whether SRC is undamaged, so that nothing was to be repaired.
  bool whole() const { return places == 0; }
};

/// Verifies SRC. If it is damaged and all lost parts are found by their digests, makes DST with the id of SRC, and
/// verifies DST before it is published. Undamaged files are hard-linked or copied. Memory: as verify_checkpoint, plus a
/// few leaves.
/// \error kNotFound, kIncompatible, kInvalid (names), the errors of Donors::open and of Rewrite (rewrite.h)
Result<RepairReport> repair_checkpoint(Fs& fs, const RepairOptions& options);

}  // namespace titan::ckpt
