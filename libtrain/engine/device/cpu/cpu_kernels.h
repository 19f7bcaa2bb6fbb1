#pragma once
// The kernels of the CPU: attention, with or without a mask, and losses and norms whose order of addition is the same
// on every processor.
#include "libtrain/engine/device/kernels.h"

namespace titan::train {

/// Cross-entropy of each token in fp64, [B*T], from logits [B,T,V], for validation and evaluation. (fp32 sums over a
/// large vocabulary have errors of 1e-5.) `targets` is int64 [B,T].
at::Tensor exact_token_losses(const at::Tensor& logits_BTV, const at::Tensor& targets_BT);
/// Sum of `losses` in fp64, added in index order.
double ordered_sum(const at::Tensor& losses);

class CpuKernels : public Kernels {
 public:
  at::Tensor attention(const at::Tensor& q_BHTK, const at::Tensor& k_BGTK, const at::Tensor& v_BGTK,
                       bool causal) override;
  at::Tensor masked_attention(const at::Tensor& q_BHTK, const at::Tensor& k_BGTK, const at::Tensor& v_BGTK,
                              const at::Tensor& mask_TT) override;
  at::Tensor exact_losses(const at::Tensor& logits_BTV, const at::Tensor& targets_BT) override;
  at::Tensor loss_sum(const at::Tensor& losses) override;
  void leaf_norms(std::span<const NormLeaf> leaves, int p) override;
};

}  // namespace titan::train
