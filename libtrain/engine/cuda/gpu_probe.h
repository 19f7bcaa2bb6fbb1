#pragma once
// Lists the GPUs of this host through CUDA. Part of libtitan_cuda.so.
#include "libtrain/job/host/gpu_checks.h"

namespace titan::train {

/// Never throws; facts that are not available are left out. Creates no CUDA context.
GpuFacts probe_gpus();

}  // namespace titan::train
