#pragma once
// Losses in fp64, added in index order on the host.
#include <ATen/core/Tensor.h>

namespace titan::train {

/// Cross-entropy of each token in fp64, [B*T], from fp32 logits, for validation and evaluation. (fp32 sums over a large
/// vocabulary have errors of 1e-5.) `targets`: int64 [B,T].
at::Tensor exact_token_losses(const at::Tensor& logits_BTV, const at::Tensor& targets_BT);
/// Sum of `losses` in index order in fp64.
double ordered_sum(const at::Tensor& losses);

}  // namespace titan::train
