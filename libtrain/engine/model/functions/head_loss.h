#pragma once
// Head and cross-entropy together: computes the loss of a micro-batch and its gradients in one call, so that no logits
// are kept.
#include <cstdint>

#include <ATen/core/Tensor.h>

#include "libtrain/engine/device/kernels.h"
#include "libtrain/engine/model/functions/products.h"

namespace titan::train {

struct HeadLoss {
  at::Tensor losses;       ///< fp32 [B*T]
  at::Tensor grad_x;       ///< shape and type of x
  at::Tensor grad_weight;  ///< shape and type of weight; fp32 if it was summed over chunks
};

/// Cross-entropy in fp32 of each token's logits x w^T, and the gradients of their sum times `scale`. x [B,T,D] in the
/// compute dtype, weight [V,D], targets int64 [B,T], of which some may be kNoTarget. The logits of `chunk` tokens exist
/// at once; 0: of all tokens. `chunk` is part of a run's class: the sums of the weight's gradient and the shapes of the
/// products depend on it.
HeadLoss head_loss(const at::Tensor& x_BTD, const at::Tensor& weight, const at::Tensor& targets_BT, double scale,
                   Gemm gemm, std::int64_t chunk = 0);

}  // namespace titan::train
