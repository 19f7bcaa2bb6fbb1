#include "libtrain/model/functions/rms_norm.h"

#include <ATen/ATen.h>
#include <ATen/ExpandUtils.h>
#include <torch/csrc/autograd/custom_function.h>

namespace titan::train {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

at::Tensor norm_forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& weight, double eps) {
  const at::Tensor wide = x.to(at::kFloat);
  const at::Tensor scale = at::pow(wide, 2).mean({-1}, /*keepdim=*/true).add_(eps).rsqrt_();
  context->save_for_backward({x, weight, scale});
  return wide.mul(scale).mul_(weight).to(x.scalar_type());
}

struct NormGradients {
  at::Tensor x, weight;
};

// `along`: the gradient that came along the residual sum; undefined without one.
NormGradients norm_backward(AutogradContext* context, const at::Tensor& grad, const at::Tensor& along) {
  const variable_list saved = context->get_saved_variables();
  const at::Tensor &x = saved[0], &weight = saved[1], &scale = saved[2];
  const at::Tensor wide = x.to(at::kFloat), wide_grad = grad.to(at::kFloat);
  NormGradients gradients;
  gradients.weight = at::sum_to(wide.mul(scale).mul_(wide_grad), weight.sizes()).to(weight.scalar_type());

  const at::Tensor inner = wide_grad.mul(weight);
  const at::Tensor of_scale = at::mul(inner, wide).sum({-1}, /*keepdim=*/true);
  const at::Tensor of_mean = of_scale.mul(-0.5).mul_(scale.pow(3)).div_(x.size(-1));
  const at::Tensor direct = inner.mul_(scale), by_mean = wide.mul(2).mul_(of_mean);
  if (!along.defined()) {
    gradients.x = direct.add_(by_mean).to(x.scalar_type());
  } else if (x.scalar_type() == at::kFloat) {
    gradients.x = direct.add_(along).add_(by_mean);
  } else {
    gradients.x = direct.add_(by_mean).to(x.scalar_type()).add_(along);
  }
  return gradients;
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

}  // namespace

at::Tensor rms_norm(const at::Tensor& x_BTD, const at::Tensor& weight, double eps) {
  return RmsNorm::apply(x_BTD, weight, eps);
}

Branch rms_norm_branch(const at::Tensor& x_BTD, const at::Tensor& weight, double eps) {
  variable_list both = RmsNormBranch::apply(x_BTD, weight, eps);
  return {both[0], both[1]};
}

}  // namespace titan::train
