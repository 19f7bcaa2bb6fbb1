#pragma once
// RMSNorm that saves its input and one number per row for the backward.
#include <ATen/core/Tensor.h>

namespace titan::train {

/// x / sqrt(mean(x^2) + eps) * weight over the last dim, computed in fp32; the result has x's dtype. On the CPU the
/// bits are those of at::rms_norm. \source Zhang and Sennrich, Root Mean Square Layer Normalization
at::Tensor rms_norm(const at::Tensor& x_BTD, const at::Tensor& weight, double eps);

/// The norm at the start of a residual branch, and its input `x` for the sum at the end of the branch. One autograd
/// function returns both, so that it adds the two gradients of x itself, in the order in which autograd would.
struct Branch {
  at::Tensor normed, x;
};
Branch rms_norm_branch(const at::Tensor& x_BTD, const at::Tensor& weight, double eps);
/// As above, with x + y in place of x: the sum at the end of the previous branch.
Branch rms_norm_branch(const at::Tensor& x_BTD, const at::Tensor& y_BTD, const at::Tensor& weight, double eps);

}  // namespace titan::train
