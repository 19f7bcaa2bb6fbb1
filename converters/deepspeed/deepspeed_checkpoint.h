#pragma once
// Checkpoints of DeepSpeed: ZeRO 1 to 3 with one tensor-parallel rank, and the universal form.
#include "converters/format.h"

namespace titan::convert::deepspeed {

/// The folder with the files of a step: `path` itself, or the folder that `latest` in `path` names; "" if there is
/// none. \error kFailed
Result<std::string> find_step(Fs& fs, const std::string& path);

/// The format "deepspeed", which cannot be written; never destroyed.
const Format& deepspeed_format();

}  // namespace titan::convert::deepspeed
