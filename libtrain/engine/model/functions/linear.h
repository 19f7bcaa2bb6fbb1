#pragma once
// A linear layer whose weight gradient can go to a GradientSink instead of autograd.
#include <ATen/core/Tensor.h>

#include "libtrain/engine/model/functions/gradient_sink.h"

namespace titan::train {

/// Options for a layer's products. Without a sink, autograd computes the weight's gradient.
struct ProductUse {
  Gemm gemm = Gemm::kMkl;
  GradientSink* sink = nullptr;  ///< must outlive the backward
  bool single_row = false;       ///< use row_product() on the CPU: the input is a single row, and no gradient is needed
  bool unread = false;           ///< the layer is recomputed for its backward, which does not read its output
};

/// A weight [N, K] and its index among the stage's parameters; `bias` [N] may be undefined.
struct LinearWeight {
  const at::Tensor& weight;
  std::size_t parameter = 0;
  at::Tensor bias = {};
};

/// x w^T + bias, [.., N]. The backward returns the gradient of x and passes the weight's gradient to the sink.
at::Tensor linear(const at::Tensor& x, const LinearWeight& weight, const ProductUse& use);

}  // namespace titan::train
