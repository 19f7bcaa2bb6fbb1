#pragma once
// Rotary position embedding (RoPE) as one autograd function. Its backward rotates by the opposite angles, so x need not
// be saved. rope_table() (blocks.h) makes the table, from the frequencies of recipe/model/rope_frequencies.h.
#include <ATen/core/Tensor.h>

namespace titan::train {

/// Rotates adjacent pairs (2j, 2j+1) of the last dim, in fp32. `table` is a rope_table(), whose row t is for token t of
/// each sequence, or complex64 [B,T,K/2]. The result has x's dtype.
at::Tensor apply_rope(const at::Tensor& x_BTHK, const at::Tensor& table);

}  // namespace titan::train
