#include "libtrain/engine/model/blocks.h"

#include <algorithm>
#include <stdexcept>

#include <ATen/ATen.h>

#include "libtrain/engine/device/kernels.h"
#include "libtrain/engine/model/functions/rms_norm.h"
#include "libtrain/engine/model/functions/rope.h"
#include "libtrain/engine/model/functions/swiglu.h"

namespace titan::train {
namespace {

struct Heads {
  at::Tensor q_BHTK, k_BGTK, v_BGTK;
};
Heads project(const at::Tensor& x_BTD, const AttentionWeights& w, const at::Tensor& rope, const ProductUse& use) {
  const auto heads = [&](const LinearWeight& weight, const at::Tensor& norm = {}) {
    const at::Tensor rows = linear(x_BTD, weight, use);
    return (norm.defined() ? rms_norm(rows, norm, w.norm_eps) : rows).unflatten(2, {-1, w.head_dim});
  };
  const auto turned = [&](const LinearWeight& weight, const at::Tensor& norm) {
    if (w.whole_norm) return apply_rope(heads(weight, norm), rope).transpose(1, 2);
    const at::Tensor x_BTHK = heads(weight);
    return apply_rope(norm.defined() ? rms_norm(x_BTHK, norm, w.norm_eps) : x_BTHK, rope).transpose(1, 2);
  };
  return {turned(w.query, w.query_norm), turned(w.key, w.key_norm), heads(w.value).transpose(1, 2)};
}

// Attention of one new token to the tokens in its window. The H/G query heads that share a key/value head are passed as
// rows of one head.
at::Tensor of_newest(const at::Tensor& q_BHTK, const at::Tensor& k_BGTK, const at::Tensor& v_BGTK,
                     const Window& window) {
  const std::int64_t all = k_BGTK.size(2), seen = window.tokens == 0 ? all : std::min(window.tokens, all);
  const auto newest = [&](const at::Tensor& x_BGTK) { return x_BGTK.narrow(2, all - seen, seen); };
  const at::Tensor rows = q_BHTK.reshape({1, k_BGTK.size(1), -1, q_BHTK.size(3)});
  return kernels().attention(rows, newest(k_BGTK), newest(v_BGTK), /*causal=*/false).reshape(q_BHTK.sizes());
}

}  // namespace

at::Tensor attention(const at::Tensor& x_BTD, const AttentionWeights& w, const at::Tensor& rope, const ProductUse& use,
                     const Documents& documents) {
  const Heads heads = project(x_BTD, w, documents.apart() ? documents.rope_BTK : rope, use);
  const at::Tensor out_BHTK = documents.apart()
                                  ? document_attention(heads.q_BHTK, heads.k_BGTK, heads.v_BGTK, documents, w.window)
                                  : causal_attention(heads.q_BHTK, heads.k_BGTK, heads.v_BGTK, w.window);
  return linear(out_BHTK.transpose(1, 2).flatten(2), w.out, use);
}

at::Tensor cached_attention(const at::Tensor& x_BTD, const AttentionWeights& w, const at::Tensor& rope,
                            const ProductUse& use, KvCache& cache, std::size_t layer) {
  const std::int64_t before = cache.length(), tokens = x_BTD.size(1);
  if (before > 0 && tokens != 1) throw std::invalid_argument("a cache that is not empty takes one token at a time");
  const Heads heads = project(x_BTD, w, rope.narrow(0, before, tokens), use);
  const KvCache::KeysValues seen = cache.append(layer, heads.k_BGTK, heads.v_BGTK);
  const at::Tensor out_BHTK = before == 0 ? causal_attention(heads.q_BHTK, heads.k_BGTK, heads.v_BGTK, w.window)
                                          : of_newest(heads.q_BHTK, seen.k_BGTK, seen.v_BGTK, w.window);
  return linear(out_BHTK.transpose(1, 2).flatten(2), w.out, use);
}

at::Tensor feed_forward(const at::Tensor& x_BTD, const FeedForwardWeights& w, const ProductUse& use) {
  const at::Tensor gate = linear(x_BTD, w.gate, use), up = linear(x_BTD, w.up, use);
  return swiglu_linear(gate, up, w.down, use);
}

}  // namespace titan::train
