#pragma once
// The module tries itself on one GPU, for scripts/gpu-check. Part of libtitan_cuda.so.
#include <string>

namespace titan::train {

/// A group of NCCL of one rank, an all-to-all through it, the host's wait, a bf16 product, attention and its backward,
/// the element kernels' bits, and the environment rows. Returns the rows and the times of norms, "name value" lines.
/// \error CommError and what CUDA throws
std::string try_gpu(int device);

}  // namespace titan::train
