#pragma once
// Losses in fp64, added in index order on the host.
#include <ATen/core/Tensor.h>

namespace titan::train {

/// Cross-entropy of each token in fp64, [B*T], from logits [B,T,V], for validation and evaluation. (fp32 sums over a
/// large vocabulary have errors of 1e-5.) `targets` is int64 [B,T].
at::Tensor exact_token_losses(const at::Tensor& logits_BTV, const at::Tensor& targets_BT);
/// Sum of `losses` in fp64, added in index order.
double ordered_sum(const at::Tensor& losses);

}  // namespace titan::train
