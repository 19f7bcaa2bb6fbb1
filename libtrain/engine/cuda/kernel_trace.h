#pragma once
// What the GPU did in a step, as LibTorch's profiler tells it, for scripts/gpu-check. Part of libtitan_cuda.so.

namespace titan::train {

/// Where TITAN_GPU_TRACE names a file: the third step from now on goes there as a Chrome trace, with every kernel.
/// Otherwise nothing. Called at the end of each step, in the thread that hands out its work.
void trace_step_end();

}  // namespace titan::train
