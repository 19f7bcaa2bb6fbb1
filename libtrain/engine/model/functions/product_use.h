#pragma once
// What the backward of a linear layer needs in addition to its tensors.
#include <torch/csrc/autograd/custom_function.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "libtrain/engine/model/functions/linear.h"
#include "libtrain/engine/model/functions/row_product.h"

namespace titan::train {

/// Saved in the context of an autograd function.
struct SavedUse final : torch::CustomClassHolder {
  SavedUse(ProductUse use, std::size_t parameter) : products(use), parameter(parameter) {}

  at::Tensor output(const at::Tensor& rows, const at::Tensor& weight, const at::Tensor& bias = {}) const {
    return products.single_row && rows.is_cpu() ? row_product(rows, weight, bias)
                                                : output_product(products.gemm, rows, weight, bias);
  }

  /// The gradient of the weight, from the gradient of the output rows (`grad`) and the input rows (`x`). Undefined if a
  /// sink took the product, or if it is not `wanted`.
  at::Tensor weight_gradient(at::Tensor grad, at::Tensor x, bool wanted) const {
    WeightProduct product{parameter, products.gemm, std::move(grad), std::move(x)};
    if (products.sink == nullptr) return wanted ? product.multiply() : at::Tensor();
    products.sink->take(std::move(product));
    return {};
  }

  ProductUse products;
  std::size_t parameter;
};

inline at::Tensor rows_of(const at::Tensor& x) { return x.reshape({-1, x.size(-1)}); }

/// The shape of `x` with `last` as its last dim.
inline std::vector<std::int64_t> with_last(const at::Tensor& x, std::int64_t last) {
  std::vector<std::int64_t> shape = x.sizes().vec();
  shape.back() = last;
  return shape;
}

}  // namespace titan::train
