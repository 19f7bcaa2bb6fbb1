#pragma once
// Shared by the tools that make a checkpoint from another one: the derived manifest and the carried members.
#include <string>
#include <vector>

#include "ckpt/read/reader.h"
#include "ckpt/save/rewrite.h"

namespace titan::ckpt {

/// Source and destination of a tool that makes a checkpoint from another one.
struct RewriteOptions {
  std::string src;              ///< CKPT, RUN@step or RUN@latest
  std::string dst;              ///< the new folder
  bool force = false;           ///< replaces DST if it is a checkpoint, and verifies SRC first
  bool verify = false;          ///< checks every digest of SRC first; else its members are carried unread
  std::string writer, created;  ///< for the new manifest: program, version, git hash; RFC 3339 UTC
  CancelToken cancel;
};

/// How one member of SRC came into DST.
struct CarriedFile {
  std::string member;
  std::uint64_t bytes = 0;
  CarryMethod method = CarryMethod::kLink;
  std::string reason;  ///< why it is not a hard link
};

/// `path` in a form that means the same in any folder: absolute, without links. Unchanged if it cannot be resolved.
std::string lasting_path(Fs& fs, const std::string& path);
/// The `derived_from` of a checkpoint made from `source`. The sources of a weighted sum are copied from it.
DerivedFrom derived_from(Fs& fs, const CheckpointReader& source);
/// The manifest of `source` with `derived_from`, writer and time of the new checkpoint. Its id is still the source's.
Manifest derived_manifest(Fs& fs, const CheckpointReader& source, const RewriteOptions& options);
/// Checks every byte of the checkpoint `src` if the options ask for it, and returns whether it did. \error kCorrupt,
/// kMediaError, those of verify_checkpoint
Result<bool> verify_source(Fs& fs, const std::string& src, const RewriteOptions& options);
/// Carries the members of `manifest` whose paths are not in `fresh`, in order, with Rewrite::carry.
Result<std::vector<CarriedFile>> carry_members(Rewrite& rewrite, const Manifest& manifest,
                                               const std::vector<std::string>& fresh, const CancelToken& cancel);

}  // namespace titan::ckpt
