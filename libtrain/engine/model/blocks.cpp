#include "libtrain/engine/model/blocks.h"

#include <cmath>
#include <stdexcept>

#include <ATen/ATen.h>

#include "libtrain/engine/device/device.h"
#include "libtrain/engine/device/host_values.h"
#include "libtrain/engine/model/functions/rope.h"
#include "libtrain/engine/model/functions/swiglu.h"

namespace titan::train {
namespace {

// In fp32 as torchtitan and transformers compute it.
float scaled_frequency(float frequency, const recipe::RopeScaling& scaling) {
  const auto factor = static_cast<float>(scaling.factor);
  const auto low = static_cast<float>(scaling.low_freq_factor), high = static_cast<float>(scaling.high_freq_factor);
  const auto original = static_cast<float>(scaling.original_max_position_embeddings);
  const float wavelength = 1.0f / frequency * 6.2831853071795864769f;
  if (wavelength > original / low) return frequency / factor;
  if (wavelength < original / high) return frequency;
  const float smooth = (original / wavelength - low) / (high - low);
  return (1.0f - smooth) * frequency / factor + smooth * frequency;
}

struct Heads {
  at::Tensor q_BHTK, k_BGTK, v_BGTK;
};
Heads project(const at::Tensor& x_BTD, const AttentionWeights& w, std::int64_t head_dim, const at::Tensor& rope,
              const ProductUse& use) {
  const auto heads = [&](const LinearWeight& weight) {
    return linear(x_BTD, weight, use).unflatten(2, {-1, head_dim});
  };
  return {apply_rope(heads(w.wq), rope).transpose(1, 2), apply_rope(heads(w.wk), rope).transpose(1, 2),
          heads(w.wv).transpose(1, 2)};
}

at::Tensor causal(const at::Tensor& q_BHTK, const at::Tensor& k_BGTK, const at::Tensor& v_BGTK) {
  return device().attention(q_BHTK, k_BGTK, v_BGTK, /*causal=*/true);
}

// Of one token to all before it and itself: the query heads of a group are rows that share keys and values.
at::Tensor of_all(const at::Tensor& q_BHTK, const at::Tensor& k_BGTK, const at::Tensor& v_BGTK) {
  const at::Tensor rows = q_BHTK.reshape({1, k_BGTK.size(1), -1, q_BHTK.size(3)});
  return device().attention(rows, k_BGTK, v_BGTK, /*causal=*/false).reshape(q_BHTK.sizes());
}

}  // namespace

at::Tensor rope_table(std::int64_t max_seq_len, std::int64_t head_dim, double theta,
                      const std::optional<recipe::RopeScaling>& scaling) {
  const std::int64_t half = head_dim / 2;
  at::Tensor table = at::empty({max_seq_len, half, 2}, at::kFloat);
  float* out = mutable_host_values<float>(table).data();
  for (std::int64_t t = 0; t < max_seq_len; ++t) {
    for (std::int64_t j = 0; j < half; ++j) {
      // Frequencies and angles round to fp32 where torchtitan's do: at t = 8192 an exact angle differs by 1e-4.
      const float exponent = static_cast<float>(2 * j) / static_cast<float>(head_dim);
      float frequency = 1.0f / static_cast<float>(std::pow(theta, static_cast<double>(exponent)));
      if (scaling) frequency = scaled_frequency(frequency, *scaling);
      const double angle = static_cast<float>(t) * frequency;
      *out++ = static_cast<float>(std::cos(angle));
      *out++ = static_cast<float>(std::sin(angle));
    }
  }
  return device().from_host(at::view_as_complex(table));
}

at::Tensor attention(const at::Tensor& x_BTD, const AttentionWeights& w, std::int64_t head_dim, const at::Tensor& rope,
                     const ProductUse& use) {
  const Heads heads = project(x_BTD, w, head_dim, rope, use);
  return linear(causal(heads.q_BHTK, heads.k_BGTK, heads.v_BGTK).transpose(1, 2).flatten(2), w.wo, use);
}

at::Tensor cached_attention(const at::Tensor& x_BTD, const AttentionWeights& w, std::int64_t head_dim,
                            const at::Tensor& rope, const ProductUse& use, KvCache& cache, std::size_t layer) {
  const std::int64_t before = cache.length(), tokens = x_BTD.size(1);
  if (before > 0 && tokens != 1) throw std::invalid_argument("a cache that is not empty takes one token at a time");
  const Heads heads = project(x_BTD, w, head_dim, rope.narrow(0, before, tokens), use);
  const KvCache::Seen seen = cache.append(layer, heads.k_BGTK, heads.v_BGTK);
  const at::Tensor out_BHTK =
      before == 0 ? causal(heads.q_BHTK, heads.k_BGTK, heads.v_BGTK) : of_all(heads.q_BHTK, seen.k_BGTK, seen.v_BGTK);
  return linear(out_BHTK.transpose(1, 2).flatten(2), w.wo, use);
}

at::Tensor feed_forward(const at::Tensor& x_BTD, const FeedForwardWeights& w, const ProductUse& use) {
  const at::Tensor gate = linear(x_BTD, w.w1, use), up = linear(x_BTD, w.w3, use);
  return swiglu_linear(gate, up, w.w2, use);
}

}  // namespace titan::train
