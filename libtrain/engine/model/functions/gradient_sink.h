#pragma once
// Where layers leave what is no gradient of their input: the backward of linear layers leaves the products that give
// the gradients of their weights.
#include <cstddef>

#include <ATen/core/Tensor.h>

#include "libtrain/engine/model/functions/products.h"

namespace titan::train {

/// The gradient of a weight, not multiplied yet: weight_product(gemm, grad, x).
struct WeightProduct {
  std::size_t parameter = 0;  ///< place among the stage's parameters
  Gemm gemm = Gemm::kMkl;
  at::Tensor grad, x;  ///< [R, N] and [R, K]
  at::Tensor multiply() const { return weight_product(gemm, grad, x); }
};

/// Takes one product per weight and backward, and multiplies it at once or later: the bits are the same.
/// Called on the thread that runs the backward.
class GradientSink {
 public:
  virtual ~GradientSink() = default;
  virtual void take(WeightProduct product) = 0;
  /// Of a layer of experts, once for each of its backwards: how unbalanced they were, one fp64 number (moe.h).
  virtual void note_balance(at::Tensor) {}
};

}  // namespace titan::train
