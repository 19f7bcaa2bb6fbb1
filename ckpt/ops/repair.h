#pragma once
// `verify --repair`: a checkpoint with the id of a damaged one, whose damaged files are made anew from its parity
// files, or of what is whole in them and of what donors have.
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
  CheckpointOpener open;            ///< of donors
  /// What a donor's name means, where it is of another format; empty: none is.
  std::function<std::string(Fs& fs, const std::string& spec)> resolve;
  VerifyProgress progress;                             ///< of each of the two checks
  std::function<void(const std::string& what)> begin;  ///< called when another part of the work begins
  unsigned threads = 0;                                ///< of the checks; 0: as many as suit disk and cores
};

struct RepairReport {
  std::string src, dst;
  std::uint64_t step = 0;
  Digest id;
  std::uint64_t places = 0;          ///< of SRC that were damaged or could not be read
  std::vector<std::string> files;    ///< members that were made anew
  std::vector<Donors::Given> given;  ///< what each donor gave
  std::uint64_t by_parity = 0;       ///< of `files`, that parity files gave back
  std::vector<Damage> lost;          ///< leaves and members that nobody has, 10,000 at most; nothing is written then
  std::uint64_t not_named = 0;       ///< more of them
  bool written = false;
  std::vector<std::string> warnings;
  bool whole() const { return places == 0; }
};

/// Verifies SRC and makes DST where something is damaged, and everything lost is found by its digest; DST is verified
/// before it is published, and has the id of SRC. Files that are whole are linked. Memory: as verify_checkpoint, and a
/// few leaves. \error kNotFound, kIncompatible, kInvalid (names), as Rewrite
Result<RepairReport> repair_checkpoint(Fs& fs, const RepairOptions& options);

}  // namespace titan::ckpt
