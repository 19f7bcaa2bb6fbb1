#pragma once
// Fused head and cross-entropy: computes the loss of a micro-batch and its gradients in one call, so that logits are
// not kept.
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

/// fp32 cross-entropy of each token's logits x w^T, and the gradients of the losses' sum times `scale`. x [B,T,D] in
/// the compute dtype, weight [V,D], targets int64 [B,T], some of which may be kNoTarget. Only the logits of `chunk`
/// tokens are in memory at a time; 0: of all tokens. `chunk` is part of a run's class: the summation of the weight's
/// gradient and the shapes of the products depend on it.
HeadLoss head_loss(const at::Tensor& x_BTD, const at::Tensor& weight, const at::Tensor& targets_BT, double scale,
                   Gemm gemm, std::int64_t chunk = 0);

}  // namespace titan::train
