#pragma once
// The documents of a micro-batch where they are kept apart: attention stays within them, positions begin anew.
//
// Shape letters: B sequences of a micro-batch, T tokens, H heads, G key/value heads, K head dim.
#include <cstdint>
#include <span>
#include <vector>

#include <ATen/core/Tensor.h>

#include "libtrain/engine/model/causal_attention.h"

namespace titan::train {

struct Documents {
  std::vector<std::int64_t> lengths;  ///< of the pieces, row after row: B x T tokens; empty: each row is one document
  at::Tensor turns_BTK;               ///< RoPE's rotations by the place in the document, complex64 [B,T,K/2]
  bool apart() const { return !lengths.empty(); }
};

/// The documents of rows of `length` tokens; `starts` are the places of each row at which one begins, but for its
/// first. `rope`: from the first token of a text on, complex64 [T,K/2].
Documents documents_of(std::span<const std::vector<std::int64_t>> starts, std::int64_t length, const at::Tensor& rope);

/// Causal attention within each of the documents, which are apart: of every one the bits that it has alone.
at::Tensor document_attention(const at::Tensor& q_BHTK, const at::Tensor& k_BGTK, const at::Tensor& v_BGTK,
                              const Documents& documents, const Window& window = {});

}  // namespace titan::train
