#pragma once
// Flash attention with a deterministic backward that uses the whole GPU. Part of libtitan_cuda.so.
#include <ATen/core/Tensor.h>

namespace titan::train {

/// Causal attention in bf16; the head size K must be a multiple of 8. The forward is LibTorch's flash kernel, with the
/// bits of scaled_dot_product_attention. The backward is LibTorch's deterministic flash kernel. It is called for some
/// heads at a time where that is faster on a GPU with `multiprocessors` SMs (libtrain/job/host/heads_per_call.h).
at::Tensor flash_attention(const at::Tensor& q_BHTK, const at::Tensor& k_BGTK, const at::Tensor& v_BGTK,
                           std::int64_t multiprocessors);

}  // namespace titan::train
