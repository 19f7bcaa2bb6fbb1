#include "libtrain/engine/model/functions/linear.h"

#include <ATen/ATen.h>

#include <optional>

#include "libtrain/engine/model/functions/product_use.h"

namespace titan::train {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct Linear final : torch::autograd::Function<Linear> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& weight,
                            const std::optional<at::Tensor>& bias, const c10::intrusive_ptr<SavedUse>& use) {
    const at::Tensor rows = rows_of(x);
    context->save_for_backward({rows, weight});
    context->saved_data["use"] = c10::IValue::make_capsule(use);
    context->saved_data["bias"] = bias.has_value();
    return use->output(rows, weight, bias.value_or(at::Tensor())).view(with_last(x, weight.size(0)));
  }

  static variable_list backward(AutogradContext* context, variable_list grads) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &rows = saved[0], &weight = saved[1], grad = rows_of(grads[0]);
    const auto use = c10::static_intrusive_pointer_cast<SavedUse>(context->saved_data["use"].toCapsule());
    at::Tensor of_x, of_bias;
    if (context->needs_input_grad(0))
      of_x = input_product(use->products.gemm, grad, weight).view(with_last(grads[0], weight.size(1)));
    if (context->saved_data["bias"].toBool() && context->needs_input_grad(2)) of_bias = at::sum(grad, {0});
    return {of_x, use->weight_gradient(grad, rows, context->needs_input_grad(1)), of_bias, {}};
  }
};

}  // namespace

at::Tensor linear(const at::Tensor& x, const LinearWeight& weight, const ProductUse& use) {
  const std::optional<at::Tensor> bias = weight.bias.defined() ? std::optional(weight.bias) : std::nullopt;
  return Linear::apply(x, weight.weight, bias, c10::make_intrusive<SavedUse>(use, weight.parameter));
}

}  // namespace titan::train
