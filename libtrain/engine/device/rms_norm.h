#pragma once
// RMSNorm and its gradients by single LibTorch operations, with the bits of at::rms_norm on the CPU. For devices
// without a kernel of their own.
// \source Zhang and Sennrich, Root Mean Square Layer Normalization
#include <ATen/core/Tensor.h>

namespace titan::train {

/// The result of RMSNorm.
struct Normed {
  at::Tensor values;  ///< in x's type
  at::Tensor scale;   ///< 1 / sqrt(mean(x^2) + eps) of each row, fp32: [..., 1]
};

/// x / sqrt(mean(x^2) + eps) * weight over the last dim, computed in fp32.
Normed single_rms_norm(const at::Tensor& x, const at::Tensor& weight, double eps);

/// The result of a sum and its norm.
struct NormedSum {
  at::Tensor sum;  ///< x + y, the input of the norm
  Normed normed;
};

/// The gradients of RMSNorm's operands.
struct NormGradients {
  at::Tensor x, weight;  ///< in the types of x and weight
};

/// The gradients of x and weight, from `grad`, the gradient of the norm, and Normed::scale. `along` is a gradient of x
/// from another path, which is added as autograd would add it; undefined if there is none.
NormGradients single_norm_gradients(const at::Tensor& grad, const at::Tensor& along, const at::Tensor& x,
                                    const at::Tensor& weight, const at::Tensor& scale);

}  // namespace titan::train
