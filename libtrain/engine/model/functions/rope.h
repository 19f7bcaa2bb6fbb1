#pragma once
// Rotary position embedding (RoPE): the table of rotations, and the rotation as one autograd function. Its backward
// rotates by the opposite angles, so x need not be saved.
#include <cstdint>
#include <optional>

#include <ATen/core/Tensor.h>

#include "recipe/model/rope_scaling.h"

namespace titan::train {

/// The RoPE rotations e^(i t theta^(-2j/K)) of token t and pair j, complex64 [max_seq_len, K/2], from fp32 angles as
/// torchtitan computes them. `scaling` changes the frequencies and the magnitude of the rotations
/// (recipe/model/rope_frequencies.h). \source Su et al., RoFormer; torchtitan v0.2.2 precompute_freqs_cis
at::Tensor rope_table(std::int64_t max_seq_len, std::int64_t head_dim, double theta,
                      const std::optional<recipe::RopeScaling>& scaling = {});

/// Rotates adjacent pairs (2j, 2j+1) of the last dim, in fp32. `table` is a rope_table(), whose row t is for token t of
/// each sequence, or complex64 [B,T,K/2]. The result has x's dtype.
at::Tensor apply_rope(const at::Tensor& x_BTHK, const at::Tensor& table);

}  // namespace titan::train
