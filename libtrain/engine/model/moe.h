#pragma once
// Mixture of experts (MoE) in place of a feed-forward: a router assigns each token to some experts, whose outputs are
// added.
//
// Experts are computed one after the other, each over its tokens in order, and a token's outputs are added in the order
// of its experts, so bits do not depend on thread timing. No token is dropped.
//
// Shape letters: B sequences, T tokens, D model dim, N = B x T, E experts, S experts per token.
#include <cstdint>
#include <vector>

#include "libtrain/engine/model/blocks.h"

namespace titan::train {

/// The weights and settings of one MoE layer.
struct MoeWeights {
  LinearWeight router;                      ///< [E,D]
  std::vector<FeedForwardWeights> experts;  ///< E
  std::int64_t per_token = 0;               ///< S
  bool normed = false;                      ///< the S weights of a token are normalised to sum 1
  double balance = 0;                       ///< coefficient of the load-balancing loss; used only with a gradient sink
};

/// The sum of the outputs of each token's experts, weighted by the softmax (in fp32) of the router's logits, [B,T,D].
///
/// The load-balancing loss is E x the sum over experts of (tokens assigned to the expert / N) x (mean probability of
/// the expert over all tokens); the first factor has no gradient. If use.sink is given, it gets this loss, and the
/// gradients of `balance` times this loss are added to the router's gradients. \source Shazeer et al., Outrageously
/// Large Neural Networks; Fedus et al., Switch Transformers; Hugging Face transformers 5, load_balancing_loss_func, of
/// one layer
at::Tensor moe(const at::Tensor& x_BTD, const MoeWeights& w, const ProductUse& use);

}  // namespace titan::train
