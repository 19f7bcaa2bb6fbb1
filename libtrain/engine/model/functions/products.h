#pragma once
// The three matrix products of a linear layer. All code that computes such a product for training calls these
// functions, so that the same library call gives the same bits.
#include <ATen/core/Tensor.h>

#include "recipe/plan/cpu_gemm.h"

namespace titan::train {

/// The library for fp32 matrix products on the CPU. bf16 products always use oneDNN there.
using Gemm = recipe::CpuGemm;

/// x w^T + bias, [R, N]. x is [R, K], w [N, K]; `bias` [N] may be undefined.
at::Tensor output_product(Gemm gemm, const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias = {});
/// The gradient of x: grad w, [R, K]. grad is [R, N].
at::Tensor input_product(Gemm gemm, const at::Tensor& grad, const at::Tensor& weight);
/// The gradient of the weight: grad^T x, [N, K].
at::Tensor weight_product(Gemm gemm, const at::Tensor& grad, const at::Tensor& x);

}  // namespace titan::train
