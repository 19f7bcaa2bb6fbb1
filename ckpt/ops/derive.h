#pragma once
// For tools that make a checkpoint DST from another one, SRC: the derived manifest, and members taken over unchanged.
#include <string>
#include <vector>

#include "ckpt/read/reader.h"
#include "ckpt/save/rewrite.h"

namespace titan::ckpt {

/// Options of a tool that makes DST from SRC.
struct RewriteOptions {
  std::string src;              ///< CKPT, RUN@step or RUN@latest
  std::string dst;              ///< the new folder
  bool force = false;           ///< replaces DST if it is a checkpoint, and verifies SRC first
  bool verify = false;          ///< checks every digest of SRC first; else unchanged shards are taken over unchecked
  std::string writer, created;  ///< for the new manifest: program, version, git hash; RFC 3339 UTC
  CancelToken cancel;
};

/// How one member of SRC was taken over into DST.
struct CarriedFile {
  std::string member;
  std::uint64_t bytes = 0;
  LinkMethod method = LinkMethod::kLink;
  std::string reason;  ///< why it is not a hard link
};

/// `path` as an absolute path without links, valid from any folder. Unchanged if it cannot be resolved.
std::string lasting_path(Fs& fs, const std::string& path);
/// The `derived_from` of a checkpoint made from `source`. If `source` is a weighted sum, its `merged` list is copied.
DerivedFrom derived_from(Fs& fs, const CheckpointReader& source);
/// The manifest of `source` without its parity files, with `derived_from`, writer and creation time of the new
/// checkpoint. Its id is still the id of the source.
Manifest derived_manifest(Fs& fs, const CheckpointReader& source, const RewriteOptions& options);
/// Checks every byte of the checkpoint `src` if the options ask for this check; returns whether they do. \error
/// kCorrupt, kMediaError, the errors of verify_checkpoint
Result<bool> verify_source(Fs& fs, const std::string& src, const RewriteOptions& options);
/// Takes over the members of `manifest` whose paths are not in `fresh`, in order, with Rewrite::carry.
Result<std::vector<CarriedFile>> carry_members(Rewrite& rewrite, const Manifest& manifest,
                                               const std::vector<std::string>& fresh, const CancelToken& cancel);

}  // namespace titan::ckpt
