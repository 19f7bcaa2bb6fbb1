#pragma once
// The receiver of what a backward produces besides the gradient of its input: for each linear layer, the operands of
// the product that is the weight's gradient.
#include <cstddef>

#include <ATen/core/Tensor.h>

#include "libtrain/engine/model/functions/products.h"

namespace titan::train {

/// The operands of the product that is a weight's gradient.
struct WeightProduct {
  std::size_t parameter = 0;  ///< index among the stage's parameters
  Gemm gemm = Gemm::kMkl;
  at::Tensor grad, x;  ///< gradient of the layer's output [R, N], and its input [R, K]
  at::Tensor multiply() const { return weight_product(gemm, grad, x); }
};

/// Gets one product for each weight in each backward. The sink may multiply at once or later, with the same bits. Its
/// functions are called in the thread that runs the backward.
class GradientSink {
 public:
  virtual ~GradientSink() = default;
  virtual void take(WeightProduct product) = 0;
  /// Gets the load-balancing loss of an MoE layer, one fp64 number (moe.h), once per micro-batch.
  virtual void note_balance(at::Tensor) {}
};

}  // namespace titan::train
