#include "libtrain/engine/cuda/cuda_kernels.h"

#include <cmath>
#include <utility>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/cuda/CUDAContext.h>

#include "libtrain/engine/cuda/flash_attention.h"
#include "libtrain/engine/cuda/kernel_trace.h"
#include "libtrain/engine/device/device.h"
#include "libtrain/engine/device/host_values.h"
#include "libtrain/engine/device/leaf_norm.h"

namespace titan::train {
namespace {

/// Adds halves until one element is left: additions of elements alone, whose order depends on their number and on
/// nothing that a kernel chooses.
at::Tensor sum_of(at::Tensor values) {
  while (values.numel() > 1) {
    const std::int64_t all = values.numel(), half = (all + 1) / 2;
    at::Tensor sums = values.narrow(0, 0, half).clone();
    sums.narrow(0, 0, all - half).add_(values.narrow(0, half, all - half));
    values = std::move(sums);
  }
  return values;
}

/// Sum of |x / 2^exponent|^power in fp64.
at::Tensor power_sum(const at::Tensor& values, int power, int exponent) {
  return sum_of(values.to(at::kDouble).mul_(std::ldexp(1.0, -exponent)).abs_().pow_(power));
}

}  // namespace

CudaKernels::CudaKernels(const DeviceSettings& settings, Device& device) : settings_(settings), device_(device) {}

// Which kernel that is, the switches say: each but one is off, so that SDPA computes with it or throws.
at::Tensor CudaKernels::attention(const at::Tensor& q_BHTK, const at::Tensor& k_BGTK, const at::Tensor& v_BGTK,
                                  bool causal) {
  const std::int64_t heads = q_BHTK.size(1) / k_BGTK.size(1);
  // The kernel wants whole vectors of a head; of others, which nobody trains, LibTorch makes such.
  const bool whole = causal && q_BHTK.scalar_type() == at::kBFloat16 && q_BHTK.size(3) % 8 == 0;
  if (settings_.attention == "flash" && settings_.deterministic && whole)
    return flash_attention(q_BHTK, k_BGTK, v_BGTK,
                           at::cuda::getDeviceProperties(q_BHTK.device().index())->multiProcessorCount);
  // Flash reads shared heads as they are.
  const bool expand = heads != 1 && settings_.attention != "flash";
  const at::Tensor k = expand ? k_BGTK.repeat_interleave(heads, 1) : k_BGTK;
  const at::Tensor v = expand ? v_BGTK.repeat_interleave(heads, 1) : v_BGTK;
  return at::scaled_dot_product_attention(q_BHTK, k, v, /*attn_mask=*/{}, /*dropout_p=*/0.0, causal,
                                          /*scale=*/std::nullopt, /*enable_gqa=*/heads != 1 && !expand);
}

// One kernel forward and two backward in place of a dozen each, which would read and write fp32 copies of x.
Normed CudaKernels::rms_norm(const at::Tensor& x, const at::Tensor& weight, double eps) {
  auto [values, scale] = at::_fused_rms_norm(x, weight.sizes(), weight, eps);
  return {std::move(values), std::move(scale)};
}

NormGradients CudaKernels::norm_gradients(const at::Tensor& grad, const at::Tensor& along, const at::Tensor& x,
                                          const at::Tensor& weight, const at::Tensor& scale) {
  auto [of_x, of_weight] = at::_fused_rms_norm_backward(grad, x, weight.sizes(), scale, weight, {true, true});
  if (along.defined()) of_x.add_(along);
  return {std::move(of_x), std::move(of_weight)};
}

at::Tensor CudaKernels::exact_losses(const at::Tensor& logits_BTV, const at::Tensor& targets_BT) {
  constexpr std::int64_t kRows = 1024;  // whose logits are there in fp64 at once
  const at::NoGradGuard no_grad;
  const at::Tensor logits = logits_BTV.reshape({-1, logits_BTV.size(-1)}), targets = targets_BT.reshape({-1, 1});
  std::vector<at::Tensor> losses;
  for (std::int64_t row = 0; row < logits.size(0); row += kRows) {
    const at::Tensor exact = logits.slice(0, row, row + kRows).to(at::kDouble);
    losses.push_back(
        (exact.logsumexp(1, /*keepdim=*/true) - exact.gather(1, targets.slice(0, row, row + kRows))).view(-1));
  }
  return losses.empty() ? at::empty({0}, device_.options(at::kDouble)) : at::cat(losses);
}

at::Tensor CudaKernels::loss_sum(const at::Tensor& losses) {
  const at::NoGradGuard no_grad;
  const at::Tensor values = losses.detach().reshape({-1}).to(at::kDouble);
  return values.numel() == 0 ? at::zeros({}, device_.options(at::kDouble)) : sum_of(values).squeeze(0);
}

void CudaKernels::leaf_norms(std::span<const NormLeaf> leaves, int p) {
  trace_step_end();  // the norms are the last that every step asks for
  if (leaves.empty()) return;
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> views;
  for (const NormLeaf& leaf : leaves) views.push_back(leaf.values->view(-1).narrow(0, leaf.begin, leaf.length));
  const std::vector<at::Tensor> first =
      p == 2 ? at::_foreach_powsum(views, 2, at::kDouble) : at::_foreach_norm(at::TensorList(views), INFINITY);
  const at::Tensor entries = device_.to_host(at::stack(first).to(at::kDouble));
  const std::span<const double> values = host_values<double>(entries);
  for (std::size_t i = 0; i < leaves.size(); ++i) leaves[i].entry[0] = values[i];
  if (p == 2 || p == 0) return;
  std::vector<at::Tensor> sums;
  for (std::size_t i = 0; i < leaves.size(); ++i) sums.push_back(power_sum(views[i], p, norm_exponent(values[i])));
  const std::vector<double> powers = device_.read(sums);
  for (std::size_t i = 0; i < leaves.size(); ++i) leaves[i].entry[1] = powers[i];
}

}  // namespace titan::train
