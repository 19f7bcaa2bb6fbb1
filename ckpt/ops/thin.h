#pragma once
// Thins a step of a run: removes all components except its model, in place.
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

/// Whether the checkpoint has parameters, in files that no other component shares.
bool has_model(const Manifest& manifest);
/// The members that thin_step() removes.
std::vector<std::string> thinned_members(const Manifest& manifest);

/// Makes a checkpoint of only the parameters of `path`, with hard links if the store supports them, and replaces `path`
/// by it: with Fs::exchange, or, if the store lacks it, by two renames. After a crash between the two, the next start
/// puts the old step back. The caller must hold the lock of the run.
/// \error as Rewrite (rewrite.h); kInvalid: pinned meanwhile, or files of users in the step
Status thin_step(Fs& fs, const std::string& path, const ThinOptions& options);

}  // namespace titan::ckpt
