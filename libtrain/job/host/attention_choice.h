#pragma once
// Which kernel computes attention on a GPU: always one that is named, since it decides bits. Pure.
#include <string>

#include "ckpt/base/result.h"
#include "recipe/keys/config.h"

namespace titan::train {

/// "flash", "cudnn" or "math" of training.attention. \error kInvalid: a kernel that cannot compute in this run's dtype,
/// or one without a deterministic backward where that is promised; kUnsupported: documents that are kept apart
ckpt::Result<std::string> attention_kernel(const recipe::Config& config);

}  // namespace titan::train
