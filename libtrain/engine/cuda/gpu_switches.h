#pragma once
// Settings besides the kernels themselves that determine the bits of a GPU's results. Part of libtitan_cuda.so.
#include "ckpt/model/settings.h"
#include "libtrain/engine/parallel/device_module.h"

namespace titan::train {

/// Whether the ranks of this host share its one GPU (TITAN_SHARE_GPU): to test NCCL on a host with one GPU.
bool gpu_is_shared();

/// Sets environment variables that CUDA, NCCL and c10d read, overriding those of a cluster image. Call it in the main
/// thread, before the first call of any of these libraries.
void set_variables();

/// Selects the attention kernel in `settings`, and IEEE fp32. If deterministic, also: strict mode, no bf16 sums, no
/// convolution autotuning; results then have the same bits each time, on every layout. Call it after
/// setup_determinism(), whose CPU switches stay.
void set_gpu_switches(const DeviceSettings& settings);

/// Environment rows of a run on this GPU: model, driver, CUDA, cuBLAS, cuDNN, NCCL, attention kernel, and
/// "deterministic" if it is not.
ckpt::Settings gpu_rows(const DeviceSettings& settings);

}  // namespace titan::train
