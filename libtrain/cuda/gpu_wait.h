#pragma once
// How the host waits for its GPU. Part of libtitan_cuda.so.
#include <functional>

#include <ATen/cuda/CUDAEvent.h>

namespace titan::train {

/// From now on waits call `look` twice a second; it throws where a peer is gone, for whom the GPU would wait for ever.
/// Before any wait.
void look_while_waiting(std::function<void()> look);

/// Returns when the GPU has come to `event`. Any thread. \error what the look throws, and CUDA's own errors
void wait_for_event(const at::cuda::CUDAEvent& event);

/// Returns when the GPU has done what the current stream was given so far.
void wait_for_gpu();

}  // namespace titan::train
