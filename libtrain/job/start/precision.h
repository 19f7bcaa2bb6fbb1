#pragma once
// Whether a checkpoint holds its state as a resume loads it.
#include <string>

#include "ckpt/base/status.h"
#include "ckpt/format/manifest.h"

namespace titan::train {

/// A resume loads weights and, with `moments`, Adam's moments as float32. `path` names the checkpoint.
/// \error kIncompatible naming the first tensor of another type
ckpt::Status check_precision(const ckpt::Manifest& manifest, const std::string& path, bool moments);

}  // namespace titan::train
