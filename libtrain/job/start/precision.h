#pragma once
// Checks whether a checkpoint stores its state in the types that a resume loads.
#include <string>

#include "ckpt/base/status.h"
#include "ckpt/format/manifest.h"

namespace titan::train {

/// Checks that weights and, with `moments`, also Adam's moments and the average of training.ema are float32. `path`
/// names the checkpoint in errors. \error kIncompatible naming the first tensor of another type
ckpt::Status check_precision(const ckpt::Manifest& manifest, const std::string& path, bool moments);

}  // namespace titan::train
