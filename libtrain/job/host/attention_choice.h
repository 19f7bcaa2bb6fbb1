#pragma once
// Which kernel computes attention on a GPU. It is always a fixed kernel, since it decides bits. Pure.
#include <string>

#include "ckpt/base/result.h"

namespace titan::recipe {
struct Config;
}

namespace titan::train {

/// The kernel for training.attention: "flash", "cudnn" or "math". \error kInvalid: the kernel cannot compute in this
/// run's dtype, or lacks a deterministic backward that the run promises; kUnsupported: training.document_mask is not
/// built for GPUs
ckpt::Result<std::string> attention_kernel(const recipe::Config& config);

}  // namespace titan::train
