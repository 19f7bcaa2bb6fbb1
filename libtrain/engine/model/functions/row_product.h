#pragma once
// Product of a single row with a weight, for generation token by token. Its speed is bounded by the memory bandwidth
// for the weight. LibTorch's products take up to four times as long for a single row: they read more slowly on one
// core, and MKL uses one core only.
#include <ATen/core/Tensor.h>

namespace titan::train {

/// x w^T + bias, [1, N]. x [1, K], w [N, K] contiguous, both float32 or both bfloat16, summed in float32; `bias` [N]
/// may be undefined. The bits do not depend on the number of threads or on the processor. Not differentiable.
at::Tensor row_product(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias = {});

}  // namespace titan::train
