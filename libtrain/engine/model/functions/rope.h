#pragma once
// Rotary position embedding (RoPE) as one function. Its backward rotates by the opposite angles and saves nothing of x.
// recipe/model/rope_frequencies computes the angles.
#include <ATen/core/Tensor.h>

namespace titan::train {

/// Rotates adjacent pairs (2j, 2j+1) of the last dim in fp32 by `table`: rope_table(), or [B,T,K/2] with rotations for
/// each token. The result has x's dtype.
at::Tensor apply_rope(const at::Tensor& x_BTHK, const at::Tensor& table);

}  // namespace titan::train
