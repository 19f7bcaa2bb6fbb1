#pragma once
// Chooses the attention kernel on a GPU, from the settings alone, since it determines bits. Pure.
#include <string>

#include "ckpt/base/result.h"

namespace titan::recipe {
struct Config;
}

namespace titan::train {

/// The kernel for training.attention: "flash", "cudnn" or "math". \error kInvalid: the kernel does not support the
/// run's dtype, or lacks the deterministic backward that the run needs; kUnsupported: training.document_mask is not
/// implemented for GPUs
ckpt::Result<std::string> attention_kernel(const recipe::Config& config);

}  // namespace titan::train
