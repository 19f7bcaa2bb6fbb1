#pragma once
// Head and cross-entropy together: the loss of a micro-batch and its gradients in one go, so that no logits are kept.
#include <ATen/core/Tensor.h>

#include "libtrain/model/functions/products.h"

namespace titan::train {

/// How many tokens' logits exist at once; 0: those of all tokens. Part of a run's class: the sums of the weight's
/// gradient, and the shapes of the products, depend on it.
struct LossChunk {
  std::int64_t tokens = 0;
};

struct HeadLoss {
  at::Tensor losses;       ///< fp32 [B*T]
  at::Tensor grad_x;       ///< as x
  at::Tensor grad_weight;  ///< as weight; fp32 where it was added up over chunks
};

/// Cross-entropy in fp32 of each token's logits x w^T, and the gradients of their sum times `scale`. x [B,T,D] in the
/// compute dtype, weight [V,D], targets int64 [B,T].
HeadLoss head_loss(const at::Tensor& x_BTD, const at::Tensor& weight, const at::Tensor& targets_BT, double scale,
                   Gemm gemm, LossChunk chunk = {});

}  // namespace titan::train
