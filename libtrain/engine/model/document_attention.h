#pragma once
// Document masking: attention stays within a document, and positions start at 0 in each document.
//
// Shape letters: B sequences of a micro-batch, T tokens, H heads, G key/value heads, K head dim.
#include <cstdint>
#include <span>
#include <vector>

#include <ATen/core/Tensor.h>

#include "libtrain/engine/model/causal_attention.h"

namespace titan::train {

/// The documents in the rows of a micro-batch.
struct Documents {
  std::vector<std::int64_t>
      lengths;          ///< tokens of each document, row after row, B x T in total; empty: each row is one document
  at::Tensor rope_BTK;  ///< RoPE rotations by position in the document, complex64 [B,T,K/2]
  bool apart() const { return !lengths.empty(); }  ///< whether documents are masked from each other
};

/// The documents of rows of `length` tokens. `starts` has, for each row, the positions at which documents begin, except
/// position 0. `rope` is a rope_table(), complex64 [T,K/2].
Documents documents_of(std::span<const std::vector<std::int64_t>> starts, std::int64_t length, const at::Tensor& rope);

/// Causal attention within each document, [B,H,T,K]; documents.apart() must be true. Each document has the same bits as
/// if it were computed alone.
at::Tensor document_attention(const at::Tensor& q_BHTK, const at::Tensor& k_BGTK, const at::Tensor& v_BGTK,
                              const Documents& documents, const Window& window = {});

}  // namespace titan::train
