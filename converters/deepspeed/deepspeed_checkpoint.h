#pragma once
// DeepSpeed checkpoints: ZeRO 1 to 3 with one tensor-parallel rank, and universal checkpoints.
#include "converters/format.h"

namespace titan::convert::deepspeed {

/// The step to read in a run folder.
struct FoundStep {
  std::string folder;  ///< "" if there is none
  std::string other;   ///< an older step that the run also names
};
/// Finds the folder with the files of a step: `path` itself, or the newer of the steps that the files `latest` and
/// `latest_universal` in `path` name. If both files name the same step, the universal form is taken. \error kFailed
Result<FoundStep> find_step(Fs& fs, const std::string& path);

/// The format "deepspeed" (read only); never destroyed.
const Format& deepspeed_format();

}  // namespace titan::convert::deepspeed
