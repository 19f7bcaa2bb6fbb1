#pragma once
// DeepSpeed checkpoints: ZeRO 1 to 3 with one tensor-parallel rank, and universal checkpoints.
#include "converters/format.h"

namespace titan::convert::deepspeed {

struct FoundStep {
  std::string folder;  ///< "" if there is none
  std::string other;   ///< an older step that the run also names
};
/// The folder with the files of a step: `path` itself, or the newest step that `latest` and `latest_universal` in
/// `path` name. If both name one step, the universal form is taken. \error kFailed
Result<FoundStep> find_step(Fs& fs, const std::string& path);

/// The format "deepspeed" (read only); never destroyed.
const Format& deepspeed_format();

}  // namespace titan::convert::deepspeed
