#pragma once
// The building blocks of a Llama-style model, as stateless functions: parameters are passed as tensors.
//
// Shape letters: B sequences of a micro-batch, T tokens, D model dim, H heads, G key/value heads, K head dim, F ffn
// dim.
#include <cstdint>
#include <optional>

#include <ATen/core/Tensor.h>

#include "libtrain/engine/model/document_attention.h"
#include "libtrain/engine/model/functions/linear.h"
#include "libtrain/engine/model/kv_cache.h"

namespace titan::train {

/// The weights and settings of one layer's attention.
struct AttentionWeights {
  LinearWeight query, key, value, out;
  /// Weights of the norms of queries and keys: [K] each, or with `whole_norm` [H*K] and [G*K]. Undefined if the
  /// model has no such norms.
  at::Tensor query_norm, key_norm;
  std::int64_t head_dim = 0;
  double norm_eps = 0;
  bool whole_norm = false;  ///< a norm is over all heads of a token together, not over each head
  Window window = {};
};
/// The attention of a layer, [B,T,D]: causal, with grouped key/value heads (GQA). `rope` is a rope_table(). If
/// documents.apart(), a token attends only to tokens of its document, its position counts from the document's start,
/// and documents.rope_BTK is used in place of `rope`.
/// \source Ainslie et al., GQA
at::Tensor attention(const at::Tensor& x_BTD, const AttentionWeights& w, const at::Tensor& rope, const ProductUse& use,
                     const Documents& documents = {});

/// The attention of layer `layer` for the tokens that follow those in `cache`: any number of tokens if the cache is
/// empty, else one. Appends them to `cache`. `rope` is a rope_table(). \error std::invalid_argument for several tokens
/// and a cache that is not empty
at::Tensor cached_attention(const at::Tensor& x_BTD, const AttentionWeights& w, const at::Tensor& rope,
                            const ProductUse& use, KvCache& cache, std::size_t layer);

/// The weights of one SwiGLU feed-forward.
struct FeedForwardWeights {
  LinearWeight gate, down, up;
};
/// down(silu(gate x) * up x). \source Shazeer, GLU Variants Improve Transformer
at::Tensor feed_forward(const at::Tensor& x_BTD, const FeedForwardWeights& w, const ProductUse& use);

}  // namespace titan::train
