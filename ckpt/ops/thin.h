#pragma once
// A step of a run loses all but its model, in its place.
#include <string>
#include <vector>

#include "ckpt/base/cancel.h"
#include "ckpt/format/manifest.h"

namespace titan::ckpt {

class Fs;

struct ThinOptions {
  std::string writer, created;  ///< of the new manifest
  CancelToken cancel;
};

/// Whether a checkpoint has parameters, and files that no other component shares.
bool has_model(const Manifest& manifest);
/// The members that go.
std::vector<std::string> thinned_members(const Manifest& manifest);

/// Makes the checkpoint of the parameters of `path` alone, from links to its files where the store has them, and puts
/// it in the place of `path`: in one step, or as a rewrite with --force does, so that at any moment one of both is
/// there or put back by the next start. The caller holds the lock of the run. \error as Rewrite; kInvalid: pinned
/// meanwhile
Status thin_step(Fs& fs, const std::string& path, const ThinOptions& options);

}  // namespace titan::ckpt
