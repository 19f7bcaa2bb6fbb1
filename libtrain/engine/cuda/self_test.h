#pragma once
// Self-test of the module on one GPU, for scripts/gpu-check. Part of libtitan_cuda.so.
#include <string>

namespace titan::train {

/// Tests on GPU `device`: an all-to-all in an NCCL group of one rank, the host's wait, a bf16 product, attention and
/// its backward, sums of squares, and the bits of the element kernels. Returns lines "name value": gpu_rows(), then the
/// times of norms in microseconds. \error CommError; std::runtime_error for a wrong result; CUDA's errors
std::string try_gpu(int device);

}  // namespace titan::train
