#pragma once
// Flash attention with a deterministic backward that uses the whole GPU. Part of libtitan_cuda.so.
#include <ATen/core/Tensor.h>

namespace titan::train {

/// Causal attention of bf16 heads. Forward: LibTorch's flash kernel, with the bits of scaled_dot_product_attention.
/// Backward: the same library's kernel, called for some heads at a time where that is faster on a GPU with
/// `multiprocessors` SMs (head_pieces). The head size must be a multiple of 8.
at::Tensor flash_attention(const at::Tensor& q_BHTK, const at::Tensor& k_BGTK, const at::Tensor& v_BGTK,
                           std::int64_t multiprocessors);

}  // namespace titan::train
