#pragma once
// Causal attention, full or within a sliding window, computed by blocks of queries, each over the keys that it may see.
//
// Shape letters: B sequences, T tokens, H heads, G key/value heads, K head dim.
#include <cstdint>

#include <ATen/core/Tensor.h>

namespace titan::train {

/// Which earlier tokens each token of a layer sees. Without a mask it sees all of them.
struct Window {
  std::int64_t tokens = 0;  ///< that a token sees, itself included; 0: all earlier ones
  at::Tensor mask;          ///< is added to the scores of a full block; made by window_mask()
};

/// The mask of windows of `tokens` in rows of at most `longest`; undefined if no row is longer than the window.
at::Tensor window_mask(std::int64_t tokens, std::int64_t longest, at::ScalarType type);

/// Rows that are not longer than the window get the bits of causal attention without a window.
at::Tensor causal_attention(const at::Tensor& q_BHTK, const at::Tensor& k_BGTK, const at::Tensor& v_BGTK,
                            const Window& window);

}  // namespace titan::train
