#include "libtrain/engine/device/rms_norm.h"

#include <ATen/ATen.h>
#include <ATen/ExpandUtils.h>

namespace titan::train {

Normed single_rms_norm(const at::Tensor& x, const at::Tensor& weight, double eps) {
  const at::Tensor wide = x.to(at::kFloat);
  const at::Tensor scale = at::pow(wide, 2).mean({-1}, /*keepdim=*/true).add_(eps).rsqrt_();
  return {wide.mul(scale).mul_(weight).to(x.scalar_type()), scale};
}

NormGradients single_norm_gradients(const at::Tensor& grad, const at::Tensor& along, const at::Tensor& x,
                                    const at::Tensor& weight, const at::Tensor& scale) {
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

}  // namespace titan::train
