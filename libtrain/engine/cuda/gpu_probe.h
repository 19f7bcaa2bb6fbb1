#pragma once
// The GPUs of this host, as CUDA tells of them. Part of libtitan_cuda.so.
#include "libtrain/job/host/gpu_checks.h"

namespace titan::train {

/// Never throws; what is not there is left out. Makes no context on a GPU.
GpuFacts probe_gpus();

}  // namespace titan::train
