#pragma once
// Makes a GPU the device of this process.
#include "ckpt/base/result.h"
#include "libtrain/job/host/cuda_module.h"

namespace titan::recipe {
struct Config;
}

namespace titan::train {

/// Sets up determinism with `threads` computing threads, makes GPU `index` of this host the device of this process
/// (device.h), and lets `module` create the fabrics. Call it before the first tensor is created and before connect()
/// (rendezvous.h). \error kInvalid: a setting does not fit (training.attention, CUBLAS_WORKSPACE_CONFIG), or the module
/// lacks a function; kFailed: CUDA's error
ckpt::Status open_device(const CudaModule& module, const recipe::Config& config, int index, int threads);

}  // namespace titan::train
