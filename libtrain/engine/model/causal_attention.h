#pragma once
// Causal attention, whole or within a sliding window: by blocks of queries, each over the keys that it may see.
//
// Shape letters: B sequences, T tokens, H heads, G key/value heads, K head dim.
#include <cstdint>

#include <ATen/core/Tensor.h>

namespace titan::train {

/// What a layer sees of the tokens before each. Without a mask a token sees all of them.
struct Window {
  std::int64_t tokens = 0;  ///< that a token sees, itself included; 0: all before it
  at::Tensor mask;          ///< what is added to the scores of a whole block: window_mask()
};

/// The mask of windows of `tokens` in rows of at most `longest`; undefined where none of these is longer than the
/// window.
at::Tensor window_mask(std::int64_t tokens, std::int64_t longest, at::ScalarType type);

/// Of rows that are no longer than the window, the bits of causal attention without one.
at::Tensor causal_attention(const at::Tensor& q_BHTK, const at::Tensor& k_BGTK, const at::Tensor& v_BGTK,
                            const Window& window);

}  // namespace titan::train
