#pragma once
// `pin` and `unpin`: the file .keep in a step, which neither a run's retention nor `prune` deletes.
#include <string>
#include <vector>

#include "ckpt/base/fs.h"

namespace titan::ckpt {

struct PinnedStep {
  std::string path;
  bool changed = false;  ///< else it was so already
};

/// Pins the checkpoints that `specs` name (resolve_checkpoints), or takes their pins away. Takes no lock: a step of a
/// live run is pinned too. All are looked at before the first is changed. \error kNotFound (no such step, or it was
/// deleted meanwhile), kFailed
Result<std::vector<PinnedStep>> pin_steps(Fs& fs, const std::vector<std::string>& specs, bool pin);

}  // namespace titan::ckpt
