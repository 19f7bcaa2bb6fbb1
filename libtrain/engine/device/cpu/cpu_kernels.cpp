#include "libtrain/engine/device/cpu/cpu_kernels.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "libtrain/engine/device/host_values.h"
#include "libtrain/engine/device/leaf_norm.h"

#ifndef _OPENMP
#error "at::parallel_for stays on one thread in a file that is compiled without -fopenmp"
#endif

namespace titan::train {

at::Tensor exact_token_losses(const at::Tensor& logits_BTV, const at::Tensor& targets_BT) {
  const at::Tensor logits = logits_BTV.detach().to(at::kFloat).reshape({-1, logits_BTV.size(-1)}).contiguous(),
                   targets = targets_BT.flatten().contiguous();
  const at::Tensor losses = at::empty({logits.size(0)}, at::kDouble);
  const std::int64_t vocab = logits.size(1);
  const std::span rows = host_values<float>(logits);
  const std::span tokens = host_values<std::int64_t>(targets);
  const std::span out = mutable_host_values<double>(losses);
  at::parallel_for(0, logits.size(0), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const std::span x = rows.subspan(static_cast<std::size_t>(row * vocab), static_cast<std::size_t>(vocab));
      const double greatest = *std::max_element(x.begin(), x.end());
      double sum = 0;
      for (const float value : x) sum += std::exp(value - greatest);
      const auto place = static_cast<std::size_t>(row);
      out[place] = std::log(sum) + greatest - x[static_cast<std::size_t>(tokens[place])];
    }
  });
  return losses;
}

double ordered_sum(const at::Tensor& losses) {
  const at::Tensor values = losses.detach().to(at::kDouble).contiguous();
  double sum = 0;
  for (const double x : host_values<double>(values)) sum += x;
  return sum;
}

at::Tensor CpuKernels::attention(const at::Tensor& q_BHTK, const at::Tensor& k_BGTK, const at::Tensor& v_BGTK,
                                 bool causal) {
  return at::scaled_dot_product_attention(q_BHTK, k_BGTK, v_BGTK, /*attn_mask=*/{}, /*dropout_p=*/0.0, causal,
                                          /*scale=*/std::nullopt,
                                          /*enable_gqa=*/q_BHTK.size(1) != k_BGTK.size(1));
}

at::Tensor CpuKernels::masked_attention(const at::Tensor& q_BHTK, const at::Tensor& k_BGTK, const at::Tensor& v_BGTK,
                                        const at::Tensor& mask_TT) {
  return at::scaled_dot_product_attention(q_BHTK, k_BGTK, v_BGTK, mask_TT, /*dropout_p=*/0.0, /*is_causal=*/false,
                                          /*scale=*/std::nullopt,
                                          /*enable_gqa=*/q_BHTK.size(1) != k_BGTK.size(1));
}

at::Tensor CpuKernels::exact_losses(const at::Tensor& logits_BTV, const at::Tensor& targets_BT) {
  return exact_token_losses(logits_BTV, targets_BT);
}

at::Tensor CpuKernels::loss_sum(const at::Tensor& losses) {
  return at::scalar_tensor(ordered_sum(losses), at::kDouble);
}

void CpuKernels::leaf_norms(std::span<const NormLeaf> leaves, int p) {
  at::parallel_for(0, static_cast<std::int64_t>(leaves.size()), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const NormLeaf& leaf = leaves[static_cast<std::size_t>(i)];
      const float* const data = host_values<float>(*leaf.values).data() + leaf.begin;
      leaf.entry[0] = p == 2 ? leaf_sum_of_squares(data, leaf.length) : leaf_max(data, leaf.length);
      if (p != 2 && p != 0) leaf.entry[1] = leaf_power_sum(data, leaf.length, p, norm_exponent(leaf.entry[0]));
    }
  });
}

}  // namespace titan::train
