#pragma once
// The model's functions as single operations under autograd; the trainer's functions must have the same bits.
#include <ATen/ATen.h>

#include "libtrain/engine/model/stage.h"

namespace titan::test::composite {

inline at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double eps) {
  return at::rms_norm(x, weight.sizes(), weight, eps);
}

inline at::Tensor swiglu(const at::Tensor& gate, const at::Tensor& up) { return at::silu(gate) * up; }

inline at::Tensor rope(const at::Tensor& x_BTHK, const at::Tensor& table) {
  const std::int64_t tokens = x_BTHK.size(1), half = x_BTHK.size(3) / 2;
  const at::Tensor pairs = at::view_as_complex(x_BTHK.to(at::kFloat).unflatten(3, {half, 2}));
  const at::Tensor turned = pairs * table.narrow(0, 0, tokens).unsqueeze(1);
  return at::view_as_real(turned).flatten(3).to(x_BTHK.scalar_type());
}

/// Cross-entropy in fp32 of each token, [B*T].
inline at::Tensor token_losses(const at::Tensor& logits_BTV, const at::Tensor& targets_BT) {
  return at::cross_entropy_loss(logits_BTV.to(at::kFloat).flatten(0, 1), targets_BT.flatten(), /*weight=*/{},
                                at::Reduction::None);
}

/// Weights of one layer by the names of the parameters; biases and norms of heads may be undefined.
struct Layer {
  at::Tensor wq, wk, wv, wo, w1, w2, w3, attention_norm, ffn_norm, q_bias, k_bias, v_bias, q_norm, k_norm;
};

inline at::Tensor layer(const at::Tensor& input, const Layer& w, std::int64_t head_dim, const at::Tensor& table,
                        double eps) {
  const auto linear = [](const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias = {}) {
    return at::linear(x, weight, bias.defined() ? std::optional(bias) : std::nullopt);
  };
  const auto heads = [&](const at::Tensor& x, const at::Tensor& norm) {
    const at::Tensor of_heads = x.unflatten(2, {-1, head_dim});
    return rope(norm.defined() ? rms_norm(of_heads, norm, eps) : of_heads, table).transpose(1, 2);
  };
  const at::Tensor normed = rms_norm(input, w.attention_norm, eps);
  const at::Tensor q = heads(linear(normed, w.wq, w.q_bias), w.q_norm);
  const at::Tensor k = heads(linear(normed, w.wk, w.k_bias), w.k_norm);
  const at::Tensor v = linear(normed, w.wv, w.v_bias).unflatten(2, {-1, head_dim}).transpose(1, 2);
  const at::Tensor seen =
      at::scaled_dot_product_attention(q, k, v, {}, 0.0, true, std::nullopt, q.size(1) != k.size(1));
  const at::Tensor middle = input + linear(seen.transpose(1, 2).flatten(2), w.wo);
  const at::Tensor second = rms_norm(middle, w.ffn_norm, eps);
  return middle + linear(swiglu(linear(second, w.w1), linear(second, w.w3)), w.w2);
}

/// A whole model on one stage: the logits [B,T,V], in one graph.
inline at::Tensor logits(const train::Stage& stage, const recipe::ModelDims& dims, bool bf16, const at::Tensor& tokens,
                         const at::Tensor& table) {
  const auto weight = [&](const std::string& name, bool head = false) {
    for (const train::StageParameter& p : stage.parameters())
      if (p.name == name && p.tied_head == head) return p.compute;
    return at::Tensor();
  };
  at::Tensor x = at::embedding(weight("tok_embeddings.weight"), tokens).to(bf16 ? at::kBFloat16 : at::kFloat);
  for (std::int64_t i = 0; i < dims.n_layers; ++i) {
    const std::string at = "layers." + std::to_string(i) + ".";
    const std::string attention = at + "attention.", ffn = at + "feed_forward.";
    x = layer(x,
              {weight(attention + "wq.weight"), weight(attention + "wk.weight"), weight(attention + "wv.weight"),
               weight(attention + "wo.weight"), weight(ffn + "w1.weight"), weight(ffn + "w2.weight"),
               weight(ffn + "w3.weight"), weight(at + "attention_norm.weight"), weight(at + "ffn_norm.weight"),
               weight(attention + "wq.bias"), weight(attention + "wk.bias"), weight(attention + "wv.bias"),
               weight(attention + "q_norm.weight"), weight(attention + "k_norm.weight")},
              dims.head_dim, table, dims.norm_eps);
  }
  const at::Tensor head = dims.tied ? weight("tok_embeddings.weight", true) : weight("output.weight");
  return at::linear(rms_norm(x, weight("norm.weight"), dims.norm_eps), head);
}

}  // namespace titan::test::composite
