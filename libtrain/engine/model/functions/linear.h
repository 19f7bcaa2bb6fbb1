#pragma once
// A linear layer whose weight gradient can go to a GradientSink instead of autograd.
#include <ATen/core/Tensor.h>

#include "libtrain/engine/model/functions/gradient_sink.h"

namespace titan::train {

/// How the products of a linear layer are computed. Without a sink, autograd gets the weight's gradient.
struct ProductUse {
  Gemm gemm = Gemm::kMkl;
  GradientSink* sink = nullptr;  ///< must outlive the backward
  bool single_row = false;       ///< the input is a single row, and no gradient is needed: row_product() on the CPU
  bool unread = false;           ///< nothing reads the layer's output (Stage::run_again), so it need not be computed
};

/// A weight [N, K] and its index among the stage's parameters; `bias` [N] may be undefined.
struct LinearWeight {
  const at::Tensor& weight;
  std::size_t parameter = 0;
  at::Tensor bias = {};
};

/// x w^T + bias, [.., N]. If `use` has a sink, the backward passes the operands of the weight's gradient to the sink.
at::Tensor linear(const at::Tensor& x, const LinearWeight& weight, const ProductUse& use);

}  // namespace titan::train
