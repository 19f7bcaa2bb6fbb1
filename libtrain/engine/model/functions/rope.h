#pragma once
// Rotary position embedding as one function: its backward turns by the opposite angle and keeps nothing of x.
// The angles are recipe/model/rope_frequencies.
#include <ATen/core/Tensor.h>

namespace titan::train {

/// Rotates adjacent pairs (2j, 2j+1) of the last dim in fp32 by the angles of `table` (see rope_table), or of a
/// [B,T,K/2] with angles for each token; the result has x's dtype.
at::Tensor apply_rope(const at::Tensor& x_BTHK, const at::Tensor& table);

}  // namespace titan::train
