#pragma once
// The documents of a micro-batch that are kept apart: attention stays within a document, and positions begin again at 0
// in each.
//
// Shape letters: B sequences of a micro-batch, T tokens, H heads, G key/value heads, K head dim.
#include <cstdint>
#include <span>
#include <vector>

#include <ATen/core/Tensor.h>

#include "libtrain/engine/model/causal_attention.h"

namespace titan::train {

struct Documents {
  std::vector<std::int64_t>
      lengths;           ///< of each document, row after row, B x T tokens in all; empty: each row is one document
  at::Tensor turns_BTK;  ///< RoPE's rotations, by the token's place in its document, complex64 [B,T,K/2]
  bool apart() const { return !lengths.empty(); }
};

/// The documents of rows of `length` tokens. `starts` has, for each row, the places at which a document begins, without
/// place 0. `rope` begins at the first token of a text, complex64 [T,K/2].
Documents documents_of(std::span<const std::vector<std::int64_t>> starts, std::int64_t length, const at::Tensor& rope);

/// Causal attention within each document; `documents` must be apart. Each document gets the bits that it would have
/// alone.
at::Tensor document_attention(const at::Tensor& q_BHTK, const at::Tensor& k_BGTK, const at::Tensor& v_BGTK,
                              const Documents& documents, const Window& window = {});

}  // namespace titan::train
