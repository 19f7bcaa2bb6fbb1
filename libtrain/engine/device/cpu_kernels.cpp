#include "libtrain/engine/device/cpu_kernels.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include "libtrain/engine/device/host_values.h"
#include "libtrain/engine/device/leaf_norm.h"
#include "libtrain/engine/device/losses.h"

#ifndef _OPENMP
#error "at::parallel_for stays on one thread in a file that is compiled without -fopenmp"
#endif

namespace titan::train {

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
