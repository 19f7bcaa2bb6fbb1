#pragma once
// Linear layer with the gradient of its weight on a way of its own.
#include <ATen/core/Tensor.h>

#include "libtrain/engine/model/functions/gradient_sink.h"

namespace titan::train {

/// How the products of a layer are carried out. Without a sink the weight's gradient is autograd's.
struct ProductUse {
  Gemm gemm = Gemm::kMkl;
  GradientSink* sink = nullptr;  ///< must outlive the backward
  bool single_row = false;       ///< by row_product on the CPU: the input is one row, and no gradient is wanted
  bool unread = false;           ///< the layer is computed again for its backward, which does not read its output
};

/// A weight [N, K] with its place among the parameters of its stage; `bias` [N] may be undefined.
struct LinearWeight {
  const at::Tensor& weight;
  std::size_t parameter = 0;
  at::Tensor bias = {};
};

/// x w^T + bias, [.., N]. The gradient of x comes at once; that of the weight goes to the sink.
at::Tensor linear(const at::Tensor& x, const LinearWeight& weight, const ProductUse& use);

}  // namespace titan::train
