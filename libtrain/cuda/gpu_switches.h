#pragma once
// What decides the bits of a GPU's results beside the kernels themselves. Part of libtitan_cuda.so.
#include "ckpt/model/settings.h"

namespace titan::train {

/// The same bits each time, on every layout: strict mode, IEEE fp32, no sums in bf16, no search for the fastest
/// convolution.
void set_gpu_switches();

/// Environment rows of a run on GPU `device`: its model, driver, CUDA, cuBLAS, cuDNN, NCCL and attention kernel.
ckpt::Settings gpu_rows(int device);

}  // namespace titan::train
