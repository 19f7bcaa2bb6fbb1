#pragma once
// The three matrix products of a linear layer. Every caller makes the same library call with the same operands.
#include <ATen/core/Tensor.h>

#include "recipe/plan/cpu_gemm.h"

namespace titan::train {

/// The library for fp32 matrix products. bf16 products always use oneDNN.
using Gemm = recipe::CpuGemm;

/// x w^T + bias [R, N]. x [R, K], w [N, K]; `bias` [N] may be undefined.
at::Tensor output_product(Gemm gemm, const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias = {});
/// grad w [R, K], the gradient of x. grad [R, N].
at::Tensor input_product(Gemm gemm, const at::Tensor& grad, const at::Tensor& weight);
/// grad^T x [N, K], the gradient of the weight.
at::Tensor weight_product(Gemm gemm, const at::Tensor& grad, const at::Tensor& x);

}  // namespace titan::train
