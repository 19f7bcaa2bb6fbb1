#pragma once
// Takes what a backward yields besides the gradient of a layer's input. Linear layers give it the products whose
// results are the gradients of their weights.
#include <cstddef>

#include <ATen/core/Tensor.h>

#include "libtrain/engine/model/functions/products.h"

namespace titan::train {

/// The operands of a weight's gradient, which is weight_product(gemm, grad, x).
struct WeightProduct {
  std::size_t parameter = 0;  ///< place among the stage's parameters
  Gemm gemm = Gemm::kMkl;
  at::Tensor grad, x;  ///< [R, N] and [R, K]
  at::Tensor multiply() const { return weight_product(gemm, grad, x); }
};

/// Takes one product per weight and backward. Whether it multiplies at once or later does not change bits. Called on
/// the thread that runs the backward.
class GradientSink {
 public:
  virtual ~GradientSink() = default;
  virtual void take(WeightProduct product) = 0;
  /// Called once for each backward of a layer of experts, with its balance loss: one fp64 number (moe.h).
  virtual void note_balance(at::Tensor) {}
};

}  // namespace titan::train
