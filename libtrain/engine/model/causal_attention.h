#pragma once
// Causal attention, full or with a sliding window.
//
// Shape letters: B sequences, T tokens, H heads, G key/value heads, K head dim.
#include <cstdint>

#include <ATen/core/Tensor.h>

namespace titan::train {

/// The sliding window of a layer. By default a token attends to itself and all earlier tokens.
struct Window {
  std::int64_t tokens = 0;  ///< number of tokens that a token attends to, including itself; 0: no window
  at::Tensor mask;          ///< window_mask(), which is added to the scores
};

/// The mask for windows of `tokens` tokens in rows of at most `longest` tokens: 0 where a token may attend, else
/// -infinity. It is for one block of up to 512 queries and the keys that their windows reach. Undefined if `tokens` is
/// 0, or if no row is longer than the window.
at::Tensor window_mask(std::int64_t tokens, std::int64_t longest, at::ScalarType type);

/// Causal attention within `window`, [B,H,T,K]. Rows longer than the window are computed in blocks of 512 queries, each
/// over the keys that its window reaches. Shorter rows have the same bits as without a window.
at::Tensor causal_attention(const at::Tensor& q_BHTK, const at::Tensor& k_BGTK, const at::Tensor& v_BGTK,
                            const Window& window);

}  // namespace titan::train
