#pragma once
// One row times a weight, as in writing text token by token. Its speed is bound by reading the weight. LibTorch's
// products take up to four times as long here: they read slower on one core, and MKL's product uses one core only.
#include <ATen/core/Tensor.h>

namespace titan::train {

/// x w^T + bias, [1, N]. x [1, K], w [N, K] contiguous, both float32 or both bfloat16, sums in float32; `bias` [N] may
/// be undefined. The bits depend neither on the number of threads nor on the processor. No derivative.
at::Tensor row_product(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias = {});

}  // namespace titan::train
