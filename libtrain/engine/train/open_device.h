#pragma once
// Makes a GPU the device of this process, by the module that knows CUDA.
#include "ckpt/base/result.h"
#include "libtrain/job/host/cuda_module.h"
#include "recipe/keys/config.h"

namespace titan::train {

/// Before the first tensor, and before connect(). From here on device() is GPU `index` of this host, and groups of
/// tensors are the module's. \error kInvalid: training.attention does not fit, the module has no such door;
/// kFailed: what CUDA says
ckpt::Status open_device(const CudaModule& module, const recipe::Config& config, int index, int threads);

}  // namespace titan::train
