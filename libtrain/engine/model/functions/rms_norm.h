#pragma once
// RMSNorm that keeps its input and one number per token for the backward.
#include <ATen/core/Tensor.h>

namespace titan::train {

/// x / sqrt(mean(x^2) + eps) * weight over the last dim, computed in fp32; the result has x's dtype.
/// The bits are those of at::rms_norm. \source Zhang and Sennrich, Root Mean Square Layer Normalization
at::Tensor rms_norm(const at::Tensor& x_BTD, const at::Tensor& weight, double eps);

/// The norm at the head of a residual branch: `x` is what came in, for the sum at the end of the branch. Both go
/// through one function, so that x's gradient is added up as autograd does it over the single operations: what comes
/// along the sum first, then the two parts of the norm.
struct Branch {
  at::Tensor normed, x;
};
Branch rms_norm_branch(const at::Tensor& x_BTD, const at::Tensor& weight, double eps);
/// The same of x + y, the sum at the end of the branch before.
Branch rms_norm_branch(const at::Tensor& x_BTD, const at::Tensor& y_BTD, const at::Tensor& weight, double eps);

}  // namespace titan::train
