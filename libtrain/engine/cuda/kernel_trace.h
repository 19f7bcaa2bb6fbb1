#pragma once
// Traces the kernels of a step with LibTorch's profiler, for scripts/gpu-check. Part of libtitan_cuda.so.

namespace titan::train {

/// Call it once in each step, always after the same work, in the thread that launches the work. If TITAN_GPU_TRACE
/// names a file, what runs between the second and the third call is written there as a Chrome trace with every kernel.
/// Otherwise does nothing.
void trace_step_end();

}  // namespace titan::train
