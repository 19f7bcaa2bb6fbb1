#pragma once
// Linear layer whose weight gradient can be taken by a GradientSink instead of autograd.
#include <ATen/core/Tensor.h>

#include "libtrain/engine/model/functions/gradient_sink.h"

namespace titan::train {

/// How the products of a layer are computed. Without a sink, autograd takes the weight's gradient.
struct ProductUse {
  Gemm gemm = Gemm::kMkl;
  GradientSink* sink = nullptr;  ///< must outlive the backward
  bool single_row = false;       ///< use row_product() on the CPU: the input is one row, and no gradient is wanted
  bool unread = false;           ///< the layer is computed again for its backward, which does not read its output
};

/// A weight [N, K] with its place among the parameters of its stage; `bias` [N] may be undefined.
struct LinearWeight {
  const at::Tensor& weight;
  std::size_t parameter = 0;
  at::Tensor bias = {};
};

/// x w^T + bias, [.., N]. The backward returns the gradient of x, and gives that of the weight to the sink.
at::Tensor linear(const at::Tensor& x, const LinearWeight& weight, const ProductUse& use);

}  // namespace titan::train
