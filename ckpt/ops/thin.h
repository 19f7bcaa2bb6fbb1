#pragma once
// Thins a step of a run: removes all components but its model, in place.
#include <string>
#include <vector>

#include "ckpt/base/cancel.h"
#include "ckpt/format/manifest.h"

namespace titan::ckpt {

class Fs;

struct ThinOptions {
  std::string writer, created;  ///< for the new manifest
  CancelToken cancel;
};

/// Whether a checkpoint has parameters in files that no other component shares.
bool has_model(const Manifest& manifest);
/// The members that thin_step() removes.
std::vector<std::string> thinned_members(const Manifest& manifest);

/// Makes a checkpoint of only the parameters of `path`, from links to its files if the store has links, and replaces
/// `path` by it: in one step, or as a rewrite with --force does, so that at any moment one of the two exists or the
/// next start puts it back. The caller must hold the lock of the run. \error as Rewrite; kInvalid: pinned meanwhile
Status thin_step(Fs& fs, const std::string& path, const ThinOptions& options);

}  // namespace titan::ckpt
