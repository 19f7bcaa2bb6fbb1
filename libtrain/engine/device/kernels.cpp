#include "libtrain/engine/device/kernels.h"

#include <ATen/ATen.h>

#include <stdexcept>
#include <utility>
#include <vector>

namespace titan::train {

at::Tensor Kernels::masked_attention(const at::Tensor& q_BHTK, const at::Tensor&, const at::Tensor&,
                                     const at::Tensor&) {
  throw std::invalid_argument("attention with a sliding window is not supported on " + q_BHTK.device().str() + " yet");
}

Normed Kernels::rms_norm(const at::Tensor& x, const at::Tensor& weight, double eps) {
  return single_rms_norm(x, weight, eps);
}

NormedSum Kernels::sum_norm(const at::Tensor& x, const at::Tensor& y, const at::Tensor& weight, double eps) {
  at::Tensor sum = x + y;
  Normed normed = rms_norm(sum, weight, eps);
  return {std::move(sum), std::move(normed)};
}

NormGradients Kernels::norm_gradients(const at::Tensor& grad, const at::Tensor& along, const at::Tensor& x,
                                      const at::Tensor& weight, const at::Tensor& scale) {
  return single_norm_gradients(grad, along, x, weight, scale);
}

at::Tensor Kernels::swiglu(const at::Tensor& gate, const at::Tensor& up) { return at::silu(gate).mul_(up); }

SwiGluGradients Kernels::swiglu_gradients(const at::Tensor& gate, const at::Tensor& up, at::Tensor inner) {
  at::Tensor of_gate = inner.mul(up);
  at::silu_backward_out(of_gate, of_gate, gate);
  at::Tensor active = at::silu(gate);
  inner.mul_(active);
  return {std::move(of_gate), std::move(inner), active.mul_(up)};
}

at::Tensor Kernels::rope(const at::Tensor& x_BTHK, const at::Tensor& rotations, bool back) {
  const at::Tensor pairs = at::view_as_complex(x_BTHK.to(at::kFloat).contiguous().unflatten(3, {-1, 2}));
  return at::view_as_real(pairs * (back ? rotations.conj() : rotations)).flatten(3).to(x_BTHK.scalar_type());
}

at::Tensor Kernels::logit_gradients(at::Tensor log_probabilities, const at::Tensor& targets, double scale,
                                    at::ScalarType type) {
  at::Tensor grad = at::nll_loss_backward(at::full({log_probabilities.size(0)}, scale, log_probabilities.options()),
                                          log_probabilities, targets, {}, at::Reduction::None, kNoTarget,
                                          at::zeros({}, log_probabilities.options()));
  at::_log_softmax_backward_data_out(grad, grad, log_probabilities, 1, at::kFloat);  // in place: rows are independent
  log_probabilities.reset();
  return grad.to(type);
}

at::Tensor Kernels::add_rows(std::span<const at::Tensor> rows) {
  std::vector<at::Tensor> sums;
  for (std::size_t i = 0; i < rows.size(); i += 2)
    sums.push_back(rows[i].to(at::kFloat, /*non_blocking=*/false, /*copy=*/true).add_(rows[i + 1]));
  for (std::size_t step = 1; step < sums.size(); step *= 2)
    for (std::size_t i = 0; i + step < sums.size(); i += 2 * step) {
      sums[i].add_(sums[i + step]);
      sums[i + step].reset();
    }
  return sums.front();
}

}  // namespace titan::train
