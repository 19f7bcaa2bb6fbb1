#pragma once
// Mixture of experts in place of a feed-forward: a router assigns each token to some experts, whose outputs are added.
//
// Experts are computed one after the other, each over its tokens in order, and a token's outputs are added in the order
// of its experts, so bits do not depend on thread timing. No token is dropped.
//
// Shape letters: B sequences, T tokens, D model dim, N = B x T, E experts, S experts per token.
#include <cstdint>
#include <vector>

#include "libtrain/engine/model/blocks.h"

namespace titan::train {

struct MoeWeights {
  LinearWeight router;                      ///< [E,D]
  std::vector<FeedForwardWeights> experts;  ///< E
  std::int64_t per_token = 0;               ///< S
  bool normed = false;                      ///< the S weights of a token are normalised to sum 1
  double balance = 0;                       ///< coefficient of the load-balancing loss in gradients; only with a sink
};

/// The sum of each token's experts, weighted by the softmax of the router's fp32 logits. With a sink, the gradients of
/// `balance` times the load-balancing loss are added to the router's gradients, and the sink gets that loss: E x the
/// sum over experts of (assignments to the expert / N) x (mean probability of the expert over the tokens). The first
/// factor has no gradient. \source Shazeer et al., Outrageously Large Neural Networks; Fedus et al., Switch
/// Transformers; Hugging Face transformers 5, load_balancing_loss_func, of one layer
at::Tensor moe(const at::Tensor& x_BTD, const MoeWeights& w, const ProductUse& use);

}  // namespace titan::train
