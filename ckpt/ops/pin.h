#pragma once
// `pin` and `unpin`: create or remove the file .keep in a step. Retention and `prune` never delete a step with this
// file.
#include <string>
#include <vector>

#include "ckpt/base/result.h"

namespace titan::ckpt {

class Fs;

struct PinnedStep {
  std::string path;
  bool changed = false;  ///< false: it was pinned or unpinned already
};

/// Pins the checkpoints that `specs` name (resolve_checkpoints), or unpins them. Takes no lock, so that steps of a live
/// run can be pinned. All are checked before the first one is changed. \error kNotFound (no such step, or it was
/// deleted meanwhile), kFailed
Result<std::vector<PinnedStep>> pin_steps(Fs& fs, const std::vector<std::string>& specs, bool pin);

}  // namespace titan::ckpt
