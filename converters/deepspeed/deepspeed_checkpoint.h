#pragma once
// Checkpoints of DeepSpeed: ZeRO 1 to 3 with one tensor-parallel rank, and the universal form.
#include "converters/format.h"

namespace titan::convert::deepspeed {

struct FoundStep {
  std::string folder;  ///< "" if there is none
  std::string other;   ///< an older step, which the run names, too
};
/// The folder with the files of a step: `path` itself, or the newest that `latest` and `latest_universal` in `path`
/// name; of one step the universal form. \error kFailed
Result<FoundStep> find_step(Fs& fs, const std::string& path);

/// The format "deepspeed", which cannot be written; never destroyed.
const Format& deepspeed_format();

}  // namespace titan::convert::deepspeed
