#pragma once
// Makes a GPU the device of this process, through the CUDA module.
#include "ckpt/base/result.h"
#include "libtrain/job/host/cuda_module.h"

namespace titan::recipe {
struct Config;
}

namespace titan::train {

/// Call it before the first tensor and before connect(). Afterwards device() is GPU `index` of this host, and the
/// module creates the fabrics. \error kInvalid: training.attention does not fit, or the module lacks a function;
/// kFailed: CUDA's error
ckpt::Status open_device(const CudaModule& module, const recipe::Config& config, int index, int threads);

}  // namespace titan::train
