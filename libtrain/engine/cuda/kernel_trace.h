#pragma once
// Traces the kernels of a step with LibTorch's profiler, for scripts/gpu-check. Part of libtitan_cuda.so.

namespace titan::train {

/// Call it at the end of each step, in the thread that launches its work. If TITAN_GPU_TRACE names a file, the third
/// step after the first call is written there as a Chrome trace with every kernel. Otherwise does nothing.
void trace_step_end();

}  // namespace titan::train
