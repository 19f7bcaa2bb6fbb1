#include "libtrain/engine/model/functions/rms_norm.h"

#include <torch/csrc/autograd/custom_function.h>

#include <utility>

#include "libtrain/engine/device/kernels.h"

namespace titan::train {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

at::Tensor norm_forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& weight, double eps) {
  Normed normed = kernels().rms_norm(x, weight, eps);
  context->save_for_backward({x, weight, normed.scale});
  return std::move(normed.values);
}

// `along`: the gradient from the residual sum; undefined if there is none.
NormGradients norm_backward(AutogradContext* context, const at::Tensor& grad, const at::Tensor& along) {
  const variable_list saved = context->get_saved_variables();
  return kernels().norm_gradients(grad, along, saved[0], saved[1], saved[2]);
}

struct RmsNorm final : torch::autograd::Function<RmsNorm> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& weight, double eps) {
    return norm_forward(context, x, weight, eps);
  }
  static variable_list backward(AutogradContext* context, variable_list grads) {
    const NormGradients gradients = norm_backward(context, grads[0], {});
    return {gradients.x, gradients.weight, {}};
  }
};

struct RmsNormBranch final : torch::autograd::Function<RmsNormBranch> {
  static variable_list forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& weight, double eps) {
    return {norm_forward(context, x, weight, eps), x};
  }
  static variable_list backward(AutogradContext* context, variable_list grads) {
    const NormGradients gradients = norm_backward(context, grads[0], grads[1]);
    return {gradients.x, gradients.weight, {}};
  }
};

struct RmsNormOfSum final : torch::autograd::Function<RmsNormOfSum> {
  static variable_list forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& y,
                               const at::Tensor& weight, double eps) {
    NormedSum both = kernels().sum_norm(x, y, weight, eps);
    context->save_for_backward({both.sum, weight, both.normed.scale});
    return {std::move(both.normed.values), std::move(both.sum)};
  }
  static variable_list backward(AutogradContext* context, variable_list grads) {
    const NormGradients gradients = norm_backward(context, grads[0], grads[1]);
    return {gradients.x, gradients.x, gradients.weight, {}};
  }
};

}  // namespace

at::Tensor rms_norm(const at::Tensor& x_BTD, const at::Tensor& weight, double eps) {
  return RmsNorm::apply(x_BTD, weight, eps);
}

Branch rms_norm_branch(const at::Tensor& x_BTD, const at::Tensor& weight, double eps) {
  variable_list both = RmsNormBranch::apply(x_BTD, weight, eps);
  return {both[0], both[1]};
}

Branch rms_norm_branch(const at::Tensor& x_BTD, const at::Tensor& y_BTD, const at::Tensor& weight, double eps) {
  variable_list both = RmsNormOfSum::apply(x_BTD, y_BTD, weight, eps);
  return {both[0], both[1]};
}

}  // namespace titan::train
