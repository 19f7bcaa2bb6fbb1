#pragma once
// Head and cross-entropy in one call, which returns the losses of a micro-batch and all gradients, so that logits need
// not be kept for a backward.
#include <cstdint>

#include <ATen/core/Tensor.h>

#include "libtrain/engine/device/kernels.h"
#include "libtrain/engine/model/functions/products.h"

namespace titan::train {

/// Losses and gradients of the head.
struct HeadLoss {
  at::Tensor losses;       ///< fp32 [B*T]
  at::Tensor grad_x;       ///< shape and type of x
  at::Tensor grad_weight;  ///< shape and type of weight; fp32 if it was summed over chunks
};

/// The cross-entropy of each token in fp32, from logits x w^T, and the gradients of `scale` times the sum of the
/// losses. x is [B,T,D] in the compute dtype, weight [V,D], targets int64 [B,T]; some targets may be kNoTarget. Only
/// the logits of `chunk` tokens are in memory at a time; 0: of all tokens. `chunk` is part of a run's class (glossary):
/// the shapes of the products, and so their bits, depend on it.
HeadLoss head_loss(const at::Tensor& x_BTD, const at::Tensor& weight, const at::Tensor& targets_BT, double scale,
                   Gemm gemm, std::int64_t chunk = 0);

}  // namespace titan::train
