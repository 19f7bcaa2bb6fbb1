#pragma once
// Kernels that are compiled for the GPU that is there, when the first of them is launched.
#include <string>

#include <cuda_runtime_api.h>

namespace titan::train {

/// Launches a kernel of element_kernels.cu in blocks of `threads` on the current stream of the current GPU. The
/// `arguments` are pointers to what the kernel takes, in order. Any thread. \error std::runtime_error where NVRTC
/// cannot compile; throws what CUDA throws
void launch_kernel(const std::string& name, dim3 blocks, unsigned threads, void** arguments);

}  // namespace titan::train
