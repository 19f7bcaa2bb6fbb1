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

/// The sum of all elements. Adds the second half of the elements to the first until one element is left. The order of
/// addition depends only on the number of elements, unlike that of a reduction kernel.
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

at::Tensor view_of(const NormLeaf& leaf, std::int64_t length) {
  return leaf.values->view(-1).narrow(0, leaf.begin, length);
}
std::vector<at::Tensor> views_of(std::span<const NormLeaf> leaves) {
  std::vector<at::Tensor> views;
  for (const NormLeaf& leaf : leaves) views.push_back(view_of(leaf, leaf.length));
  return views;
}

/// Joins adjacent leaves of one tensor to runs, since a rank has thousands of leaves.
std::vector<LeafRun> runs_of(std::span<const NormLeaf> leaves) {
  std::vector<LeafRun> runs;
  for (std::size_t begin = 0, end = 0; begin < leaves.size(); begin = end) {
    const NormLeaf& first = leaves[begin];
    std::int64_t length = first.length;
    for (end = begin + 1; end < leaves.size() && leaves[end].values == first.values; ++end) {
      const NormLeaf &last = leaves[end - 1], &next = leaves[end];
      if (last.length != first.length || next.length > first.length || next.begin != last.begin + last.length) break;
      length += next.length;
    }
    runs.push_back({view_of(first, length), first.length});
  }
  return runs;
}

at::Tensor squares_of(std::span<const NormLeaf> leaves, at::Tensor sums) {
  leaf_squares(runs_of(leaves), sums);
  return sums;
}

}  // namespace

CudaKernels::CudaKernels(const DeviceSettings& settings, Device& device) : settings_(settings), device_(device) {}

// set_gpu_switches() has disabled all attention kernels but the selected one, so LibTorch uses that one or throws.
at::Tensor CudaKernels::attention(const at::Tensor& q_BHTK, const at::Tensor& k_BGTK, const at::Tensor& v_BGTK,
                                  bool causal) {
  const std::int64_t heads = q_BHTK.size(1) / k_BGTK.size(1);
  // The flash kernel needs head sizes that are multiples of 8. Other sizes do not occur in training; LibTorch pads
  // them.
  const bool whole = causal && q_BHTK.scalar_type() == at::kBFloat16 && q_BHTK.size(3) % 8 == 0;
  if (settings_.attention == "flash" && settings_.deterministic && whole)
    return flash_attention(q_BHTK, k_BGTK, v_BGTK,
                           at::cuda::getDeviceProperties(q_BHTK.device().index())->multiProcessorCount);
  // Flash attention reads shared key and value heads without expansion.
  const bool expand = heads != 1 && settings_.attention != "flash";
  const at::Tensor k = expand ? k_BGTK.repeat_interleave(heads, 1) : k_BGTK;
  const at::Tensor v = expand ? v_BGTK.repeat_interleave(heads, 1) : v_BGTK;
  return at::scaled_dot_product_attention(q_BHTK, k, v, /*attn_mask=*/{}, /*dropout_p=*/0.0, causal,
                                          /*scale=*/std::nullopt, /*enable_gqa=*/heads != 1 && !expand);
}

at::Tensor CudaKernels::exact_losses(const at::Tensor& logits_BTV, const at::Tensor& targets_BT) {
  constexpr std::int64_t kRows = 1024;  // number of tokens whose logits are in memory in fp64 at a time
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
  trace_step_end();  // norms are computed once in every step
  if (leaves.empty()) return;
  const at::NoGradGuard no_grad;
  const auto count = static_cast<std::int64_t>(leaves.size());
  const at::Tensor first = p == 2 ? squares_of(leaves, at::empty({count}, device_.options(at::kDouble)))
                                  : at::stack(at::_foreach_norm(at::TensorList(views_of(leaves)), INFINITY));
  const at::Tensor entries = device_.to_host(first.to(at::kDouble));
  const std::span<const double> values = host_values<double>(entries);
  for (std::size_t i = 0; i < leaves.size(); ++i) leaves[i].entry[0] = values[i];
  if (p == 2 || p == 0) return;
  const std::vector<at::Tensor> views = views_of(leaves);
  std::vector<at::Tensor> sums;
  for (std::size_t i = 0; i < leaves.size(); ++i) sums.push_back(power_sum(views[i], p, norm_exponent(values[i])));
  const std::vector<double> powers = device_.read(sums);
  for (std::size_t i = 0; i < leaves.size(); ++i) leaves[i].entry[1] = powers[i];
}

}  // namespace titan::train
