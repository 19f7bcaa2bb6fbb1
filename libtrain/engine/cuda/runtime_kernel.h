#pragma once
// Launches the kernels of element_kernels.cu. NVRTC compiles them for this GPU when the first of them is launched.
#include <string>

#include <cuda_runtime_api.h>

namespace titan::train {

/// Launches a kernel of element_kernels.cu with `threads` threads per block on the current stream of the current GPU.
/// `arguments`: pointers to the kernel's arguments, in order. Any thread. \error std::runtime_error if NVRTC cannot
/// compile; throws CUDA's errors
void launch_kernel(const std::string& name, dim3 blocks, unsigned threads, void** arguments);

}  // namespace titan::train
