#pragma once
// What the tools that make a checkpoint from another have in common: the derived manifest and the carried members.
#include <string>
#include <vector>

#include "ckpt/read/reader.h"
#include "ckpt/save/rewrite.h"

namespace titan::ckpt {

/// Where from and where to, and who does it.
struct RewriteOptions {
  std::string src;              ///< CKPT, RUN@step or RUN@latest
  std::string dst;              ///< a folder that is not there yet
  bool force = false;           ///< replaces DST where it is a checkpoint, and verifies SRC first
  bool verify = false;          ///< checks every digest of SRC first; else its members are taken over unread
  std::string writer, created;  ///< of the new manifest: program, version, git hash; RFC 3339 UTC
  CancelToken cancel;
};

/// How one member of SRC came into DST.
struct CarriedFile {
  std::string member;
  std::uint64_t bytes = 0;
  CarryMethod method = CarryMethod::kLink;
  std::string reason;  ///< why it is no hard link
};

/// `path` in a form that means the same from any folder: absolute, without links. Unchanged when it cannot be resolved.
std::string lasting_path(Fs& fs, const std::string& path);
/// What a checkpoint made of `source` says about that; the sources of a weighted sum are handed on.
DerivedFrom derived_from(Fs& fs, const CheckpointReader& source);
/// The manifest of `source` with `derived_from`, writer and time of the new one; its id is still the source's.
Manifest derived_manifest(Fs& fs, const CheckpointReader& source, const RewriteOptions& options);
/// Checks every byte of the checkpoint `src` where the options ask for it; returns whether they did. \error kCorrupt,
/// kMediaError, those of verify_checkpoint
Result<bool> verify_source(Fs& fs, const std::string& src, const RewriteOptions& options);
/// Carries the members of `manifest` whose paths are not in `fresh`, in order.
Result<std::vector<CarriedFile>> carry_members(Rewrite& rewrite, const Manifest& manifest,
                                               const std::vector<std::string>& fresh, const CancelToken& cancel);

}  // namespace titan::ckpt
