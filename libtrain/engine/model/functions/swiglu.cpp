#include "libtrain/engine/model/functions/swiglu.h"

#include <ATen/ATen.h>

#include "libtrain/engine/device/kernels.h"
#include "libtrain/engine/model/functions/product_use.h"

namespace titan::train {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct SwiGluLinear final : torch::autograd::Function<SwiGluLinear> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& gate, const at::Tensor& up,
                            const at::Tensor& weight, const c10::intrusive_ptr<SavedUse>& use) {
    context->save_for_backward({gate, up, weight});
    context->saved_data["use"] = c10::IValue::make_capsule(use);
    // Skips the down projection, about a quarter of the layer's products.
    if (use->products.unread) return at::empty(with_last(gate, weight.size(0)), gate.options());
    return use->output(rows_of(kernels().swiglu(gate, up)), weight).view(with_last(gate, weight.size(0)));
  }

  static variable_list backward(AutogradContext* context, variable_list grads) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &gate = saved[0], &up = saved[1], &weight = saved[2], grad = rows_of(grads[0]);
    const auto use = c10::static_intrusive_pointer_cast<SavedUse>(context->saved_data["use"].toCapsule());
    at::Tensor inner = input_product(use->products.gemm, grad, weight).view(gate.sizes());
    SwiGluGradients of = kernels().swiglu_gradients(gate, up, std::move(inner));
    return {of.gate, of.up, use->weight_gradient(grad, rows_of(of.product), context->needs_input_grad(2)), {}};
  }
};

}  // namespace

at::Tensor swiglu_linear(const at::Tensor& gate, const at::Tensor& up, const LinearWeight& weight,
                         const ProductUse& use) {
  return SwiGluLinear::apply(gate, up, weight.weight, c10::make_intrusive<SavedUse>(use, weight.parameter));
}

}  // namespace titan::train
