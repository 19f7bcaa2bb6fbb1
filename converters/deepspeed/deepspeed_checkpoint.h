#pragma once
// What DeepSpeed saves: ZeRO 1 to 3 with one tensor-parallel rank, and its universal form.
#include "converters/format.h"

namespace titan::convert::deepspeed {

/// The folder with the files that `path` stands for: itself, or the one that `latest` names in it; "" where it is no
/// such folder. \error kFailed
Result<std::string> find_step(Fs& fs, const std::string& path);

/// The format "deepspeed", which is only read; never destroyed.
const Format& deepspeed_format();

}  // namespace titan::convert::deepspeed
