#pragma once
// What the autograd functions of linear layers share.
#include <torch/csrc/autograd/custom_function.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "libtrain/engine/model/functions/linear.h"
#include "libtrain/engine/model/functions/row_product.h"

namespace titan::train {

/// A ProductUse and the index of the weight among the stage's parameters. An autograd function saves it for its
/// backward.
struct SavedUse final : torch::CustomClassHolder {
  SavedUse(ProductUse use, std::size_t parameter) : products(use), parameter(parameter) {}

  /// The output of the layer for input `rows`.
  at::Tensor output(const at::Tensor& rows, const at::Tensor& weight, const at::Tensor& bias = {}) const {
    return products.single_row && rows.is_cpu() ? row_product(rows, weight, bias)
                                                : output_product(products.gemm, rows, weight, bias);
  }

  /// The gradient of the weight, from the gradient of the output rows (`grad`) and the input rows (`x`). With a sink,
  /// the sink gets the operands, and the result is an undefined (empty) at::Tensor. It is also undefined if the
  /// gradient is not `wanted`.
  at::Tensor weight_gradient(at::Tensor grad, at::Tensor x, bool wanted) const {
    WeightProduct product{parameter, products.gemm, std::move(grad), std::move(x)};
    if (products.sink == nullptr) return wanted ? product.multiply() : at::Tensor();
    products.sink->take(std::move(product));
    return {};
  }

  ProductUse products;
  std::size_t parameter;
};

/// x [.., K] as a matrix [R, K].
inline at::Tensor rows_of(const at::Tensor& x) { return x.reshape({-1, x.size(-1)}); }

/// The shape of `x` with `last` as its last dim.
inline std::vector<std::int64_t> with_last(const at::Tensor& x, std::int64_t last) {
  std::vector<std::int64_t> shape = x.sizes().vec();
  shape.back() = last;
  return shape;
}

}  // namespace titan::train
