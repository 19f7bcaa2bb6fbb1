#pragma once
// Receives what a backward produces besides the input's gradient: the operands of weight gradients of linear layers.
#include <cstddef>

#include <ATen/core/Tensor.h>

#include "libtrain/engine/model/functions/products.h"

namespace titan::train {

/// The operands of a weight's gradient, which is weight_product(gemm, grad, x).
struct WeightProduct {
  std::size_t parameter = 0;  ///< index among the stage's parameters
  Gemm gemm = Gemm::kMkl;
  at::Tensor grad, x;  ///< [R, N] and [R, K]
  at::Tensor multiply() const { return weight_product(gemm, grad, x); }
};

/// Gets one product per weight and backward. It may multiply at once or later, with the same bits. Called in the thread
/// that runs the backward.
class GradientSink {
 public:
  virtual ~GradientSink() = default;
  virtual void take(WeightProduct product) = 0;
  /// Called once per backward of an expert layer, with its load-balancing loss: one fp64 number (moe.h).
  virtual void note_balance(at::Tensor) {}
};

}  // namespace titan::train
