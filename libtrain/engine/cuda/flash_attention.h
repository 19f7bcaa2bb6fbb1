#pragma once
// Flash attention whose deterministic backward fills the GPU. Part of libtitan_cuda.so.
#include <ATen/core/Tensor.h>

namespace titan::train {

/// Causal attention of bf16 heads by LibTorch's flash kernel, as scaled_dot_product_attention computes it forward, bit
/// for bit. Its backward is that kernel's too, called for some heads at a time where a GPU of so many
/// `multiprocessors` ends sooner so (head_pieces). Elements of a head: a multiple of 8.
at::Tensor flash_attention(const at::Tensor& q_BHTK, const at::Tensor& k_BGTK, const at::Tensor& v_BGTK,
                           std::int64_t multiprocessors);

}  // namespace titan::train
