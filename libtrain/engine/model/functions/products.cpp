#include "libtrain/engine/model/functions/products.h"

#include <optional>
#include <string_view>

#include <ATen/ATen.h>
#include <ATen/core/List.h>
#include <ATen/core/dispatch/Dispatcher.h>

namespace titan::train {
namespace {

// x w^T + bias by oneDNN. LibTorch uses this operator only for bf16, but it accepts fp32, too. It has no derivative.
at::Tensor onednn_linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  using Linear = at::Tensor(const at::Tensor&, const at::Tensor&, const std::optional<at::Tensor>&, std::string_view,
                            c10::List<std::optional<at::Scalar>>, std::optional<std::string_view>);
  static const auto linear =
      c10::Dispatcher::singleton().findSchemaOrThrow("mkldnn::_linear_pointwise", "").typed<Linear>();
  const auto added = bias.defined() ? std::optional(bias) : std::nullopt;
  return linear.call(x, weight, added, "none", c10::List<std::optional<at::Scalar>>(), "");
}

// Whether a product is computed by oneDNN: only fp32 products on the CPU have a choice.
bool by_onednn(Gemm gemm, const at::Tensor& x) {
  return gemm == Gemm::kOneDnn && x.is_cpu() && x.scalar_type() == at::kFloat && x.numel() > 0;
}

}  // namespace

at::Tensor output_product(Gemm gemm, const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  if (by_onednn(gemm, x)) return onednn_linear(x, weight, bias);
  return bias.defined() ? at::addmm(bias, x, weight.t()) : at::mm(x, weight.t());
}

at::Tensor input_product(Gemm gemm, const at::Tensor& grad, const at::Tensor& weight) {
  return by_onednn(gemm, grad) ? onednn_linear(grad, weight.t(), {}) : at::mm(grad, weight);
}

at::Tensor weight_product(Gemm gemm, const at::Tensor& grad, const at::Tensor& x) {
  return by_onednn(gemm, grad) ? onednn_linear(grad.t(), x.t(), {}) : at::mm(grad.t(), x);
}

}  // namespace titan::train
