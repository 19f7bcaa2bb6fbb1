#pragma once
// LibTorch's switches and environment variables on which the bits of a GPU's results depend. Part of libtitan_cuda.so.
#include "ckpt/model/settings.h"
#include "libtrain/engine/parallel/device_module.h"

namespace titan::train {

/// Sets environment variables that CUDA, NCCL and c10d read. Most of them override what a cluster image has set. Call
/// it in the main thread, before the first call of any of these libraries.
void set_variables();

/// Selects the attention kernel of `settings`, and fp32 products in IEEE fp32 (no TF32). If settings.deterministic is
/// true, also LibTorch's deterministic algorithms, no bf16 reductions in cuBLAS, and no cuDNN autotuning: results then
/// have the same bits each time, on every layout. Call it after setup_determinism(), whose CPU switches it keeps.
void set_gpu_switches(const DeviceSettings& settings);

/// What a checkpoint's environment says of this GPU, as rows (name, value): its model and number of multiprocessors,
/// the versions of driver, CUDA, cuBLAS, cuDNN, NCCL and LibTorch, the attention kernel, and variables of the user that
/// select kernels. The row "deterministic" exists only with the value "false".
ckpt::Settings gpu_rows(const DeviceSettings& settings);

}  // namespace titan::train
