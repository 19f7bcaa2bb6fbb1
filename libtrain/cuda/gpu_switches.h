#pragma once
// What decides the bits of a GPU's results beside the kernels themselves. Part of libtitan_cuda.so.
#include "ckpt/model/settings.h"
#include "libtrain/parallel/device_module.h"

namespace titan::train {

/// The same bits each time, on every layout: strict mode, IEEE fp32, no sums in bf16, no search for the fastest
/// convolution; attention by the kernel that is named or not at all. After setup_determinism(), whose switches for the
/// CPU stay.
void set_gpu_switches(const DeviceSettings& settings);

/// Environment rows of a run on this GPU: its model, driver, CUDA, cuBLAS, cuDNN, NCCL and the kernel of attention.
ckpt::Settings gpu_rows(const DeviceSettings& settings);

}  // namespace titan::train
