#pragma once
// Causal attention, full or with a sliding window, computed per block of queries over the keys that the block may
// attend to.
//
// Shape letters: B sequences, T tokens, H heads, G key/value heads, K head dim.
#include <cstdint>

#include <ATen/core/Tensor.h>

namespace titan::train {

/// The sliding window of a layer. Without a mask, a token attends to all earlier tokens.
struct Window {
  std::int64_t tokens = 0;  ///< tokens that a token attends to, including itself; 0: all earlier ones
  at::Tensor mask;          ///< added to the scores of a full block; made by window_mask()
};

/// The mask of windows of `tokens` in rows of at most `longest`; undefined if no row is longer than the window.
at::Tensor window_mask(std::int64_t tokens, std::int64_t longest, at::ScalarType type);

/// Rows that are not longer than the window have the same bits as without a window.
at::Tensor causal_attention(const at::Tensor& q_BHTK, const at::Tensor& k_BGTK, const at::Tensor& v_BGTK,
                            const Window& window);

}  // namespace titan::train
