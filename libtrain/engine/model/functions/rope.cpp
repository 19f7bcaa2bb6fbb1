#include "libtrain/engine/model/functions/rope.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include "libtrain/engine/device/kernels.h"

namespace titan::train {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct Rope final : torch::autograd::Function<Rope> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& rotations) {
    context->save_for_backward({rotations});
    return kernels().rope(x, rotations, /*back=*/false);
  }
  static variable_list backward(AutogradContext* context, variable_list grads) {
    return {kernels().rope(grads[0], context->get_saved_variables()[0], /*back=*/true), {}};
  }
};

}  // namespace

at::Tensor apply_rope(const at::Tensor& x_BTHK, const at::Tensor& table) {
  return Rope::apply(x_BTHK, table.dim() == 3 ? table.unsqueeze(2) : table.narrow(0, 0, x_BTHK.size(1)).unsqueeze(1));
}

}  // namespace titan::train
