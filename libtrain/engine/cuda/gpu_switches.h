#pragma once
// What decides the bits of a GPU's results beside the kernels themselves. Part of libtitan_cuda.so.
#include "ckpt/model/settings.h"
#include "libtrain/engine/parallel/device_module.h"

namespace titan::train {

/// Whether the ranks of this host share its one GPU (TITAN_SHARE_GPU): for tests of NCCL where there is no second.
bool gpu_is_shared();

/// Environment variables that CUDA, NCCL and c10d read, whatever an image of a cluster asks for. In the main thread,
/// before the first call of any of them.
void set_variables();

/// Attention by the kernel that is named, and IEEE fp32. Deterministic: strict mode, no sums in bf16, no search for the
/// fastest convolution: the same bits each time, on every layout. After setup_determinism(), whose switches for the CPU
/// stay.
void set_gpu_switches(const DeviceSettings& settings);

/// Environment rows of a run on this GPU: its model, driver, CUDA, cuBLAS, cuDNN, NCCL, the kernel of attention, and
/// "deterministic" where it is not.
ckpt::Settings gpu_rows(const DeviceSettings& settings);

}  // namespace titan::train
