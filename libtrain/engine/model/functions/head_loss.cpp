#include "libtrain/engine/model/functions/head_loss.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <utility>

#include "libtrain/engine/device/kernels.h"

namespace titan::train {
namespace {

struct Part {
  at::Tensor losses, grad_logits;
};

// The losses of rows of logits, and the gradients of the logits. The logits are freed before another matrix of their
// size is allocated.
Part loss_of(at::Tensor logits, const at::Tensor& targets, double scale) {
  const at::ScalarType type = logits.scalar_type();
  at::Tensor log_probabilities = at::log_softmax(logits.to(at::kFloat), 1);
  logits.reset();
  at::Tensor losses = std::get<0>(at::nll_loss_forward(log_probabilities, targets, {}, at::Reduction::None, kNoTarget));
  return {losses, kernels().logit_gradients(std::move(log_probabilities), targets, scale, type)};
}

}  // namespace

HeadLoss head_loss(const at::Tensor& x_BTD, const at::Tensor& weight, const at::Tensor& targets_BT, double scale,
                   Gemm gemm, std::int64_t chunk) {
  const at::NoGradGuard no_grad;
  const at::Tensor x = x_BTD.detach().reshape({-1, x_BTD.size(-1)}), targets = targets_BT.reshape({-1});
  const std::int64_t rows = x.size(0);
  if (chunk == 0 || chunk >= rows) {
    const Part part = loss_of(output_product(gemm, x, weight), targets, scale);
    return {part.losses, input_product(gemm, part.grad_logits, weight).view(x_BTD.sizes()),
            weight_product(gemm, part.grad_logits, x)};
  }
  HeadLoss all{at::empty({rows}, x.options().dtype(at::kFloat)), at::empty_like(x), {}};
  for (std::int64_t begin = 0; begin < rows; begin += chunk) {
    const std::int64_t end = std::min(begin + chunk, rows);
    const at::Tensor some = x.slice(0, begin, end);
    const Part part = loss_of(output_product(gemm, some, weight), targets.slice(0, begin, end), scale);
    all.losses.slice(0, begin, end).copy_(part.losses);
    all.grad_x.slice(0, begin, end).copy_(input_product(gemm, part.grad_logits, weight));
    const at::Tensor product = weight_product(gemm, part.grad_logits, some).to(at::kFloat);
    all.grad_weight = all.grad_weight.defined() ? all.grad_weight.add_(product) : product;
  }
  all.grad_x = all.grad_x.view(x_BTD.sizes());
  return all;
}

}  // namespace titan::train
