#include "libtrain/engine/model/functions/rope.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

namespace titan::train {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// `turns`: [T,1,K/2], or [B,T,1,K/2] where each row has its own.
at::Tensor turn(const at::Tensor& x_BTHK, const at::Tensor& turns) {
  const at::Tensor pairs = at::view_as_complex(x_BTHK.to(at::kFloat).contiguous().unflatten(3, {-1, 2}));
  return at::view_as_real(pairs * turns).flatten(3).to(x_BTHK.scalar_type());
}

struct Rope final : torch::autograd::Function<Rope> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& turns) {
    context->save_for_backward({turns});
    return turn(x, turns);
  }
  static variable_list backward(AutogradContext* context, variable_list grads) {
    return {turn(grads[0], context->get_saved_variables()[0].conj()), {}};
  }
};

}  // namespace

at::Tensor apply_rope(const at::Tensor& x_BTHK, const at::Tensor& table) {
  return Rope::apply(x_BTHK, table.dim() == 3 ? table.unsqueeze(2) : table.narrow(0, 0, x_BTHK.size(1)).unsqueeze(1));
}

}  // namespace titan::train
