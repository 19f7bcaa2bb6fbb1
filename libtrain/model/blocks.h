#pragma once
// The functions that a Llama-style model is made of. They keep no state; parameters come in as tensors.
//
// Shape letters: B sequences of a micro-batch, T tokens, D model dim, H heads, G key/value heads, K head dim, F ffn
// dim.
#include <cstdint>
#include <optional>

#include <ATen/core/Tensor.h>

#include "recipe/plan/run_plan.h"

namespace titan::train {

/// Rotations e^(i t theta^(-2j/K)) as complex64 [T, K/2], from fp32 angles as torchtitan computes them.
/// `scaling`: slow rotations are slowed down by its factor, fast ones kept, those between interpolated.
/// \source Su et al., RoFormer; torchtitan v0.2.2 precompute_freqs_cis
at::Tensor rope_table(std::int64_t max_seq_len, std::int64_t head_dim, double theta,
                      const std::optional<recipe::RopeScaling>& scaling = {});

/// Rotates adjacent pairs (2j, 2j+1) of the last dim in fp32; the result has x's dtype.
at::Tensor apply_rope(const at::Tensor& x_BTHK, const at::Tensor& table);

struct AttentionWeights {
  const at::Tensor& wq;
  const at::Tensor& wk;
  const at::Tensor& wv;
  const at::Tensor& wo;
  std::optional<at::Tensor> q_bias = {}, k_bias = {}, v_bias = {};
};
/// Causal attention with grouped key/value heads. \source Ainslie et al., GQA
at::Tensor attention(const at::Tensor& x_BTD, const AttentionWeights& w, std::int64_t head_dim, const at::Tensor& rope);

/// w2(silu(w1 x) * w3 x). \source Shazeer, GLU Variants Improve Transformer
at::Tensor feed_forward(const at::Tensor& x_BTD, const at::Tensor& w1, const at::Tensor& w2, const at::Tensor& w3);

/// \source Zhang and Sennrich, Root Mean Square Layer Normalization
at::Tensor rms_norm(const at::Tensor& x_BTD, const at::Tensor& weight, double eps);

}  // namespace titan::train
