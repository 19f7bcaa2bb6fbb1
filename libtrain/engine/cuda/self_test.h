#pragma once
// Self-test of the module on one GPU, for scripts/gpu-check. Part of libtitan_cuda.so.
#include <string>

namespace titan::train {

/// Tests an NCCL group of one rank with an all-to-all, the host's wait, a bf16 product, attention and its backward, the
/// bits of the element kernels, and the environment rows. Returns the rows and the times of norms as "name value"
/// lines. \error CommError and CUDA's errors
std::string try_gpu(int device);

}  // namespace titan::train
