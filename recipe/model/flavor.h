#pragma once
// torchtitan's llama3 and qwen3 flavours (named sizes). Pure.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "recipe/model/dims.h"

namespace titan::recipe {

inline constexpr const char *kLlama3 = "llama3", *kQwen3 = "qwen3";  ///< model.name

/// A flavour of torchtitan 0.2.2. All of llama3 have norm_eps 1e-5, rope_theta 500000, and RoPE scaling with the
/// defaults of RopeScaling. All of qwen3 have norm_eps 1e-6, rope_theta 1000000, no scaling, head_dim 128, and query
/// and key norms.
/// \source torchtitan v0.2.2 models/llama3/__init__.py, models/qwen3/__init__.py
struct Flavor {
  const char* name;
  std::int64_t dim, n_layers, n_heads, n_kv_heads, vocab_size;
  std::int64_t multiple_of;   ///< the feed-forward width is rounded up to a multiple of this (ffn_width())
  double multiplier;          ///< factor of the feed-forward width (ffn_width())
  std::int64_t ffn_dim = 0;   ///< the feed-forward width; 0: computed with the two members above
  std::int64_t head_dim = 0;  ///< 0: dim / n_heads
  bool tied = false;
  bool is_qwen3() const { return head_dim != 0; }
};

/// The flavour `name` of the family `family` (model.name), or nullptr.
const Flavor* find_flavor(std::string_view name, std::string_view family = kLlama3);
/// "debugmodel, 8B, ...": the flavours of a family.
std::string flavor_names(std::string_view family);

/// The family (model.name) of this model: qwen3 if it has query and key norms within each head, else llama3.
const char* family_of(const ModelDims& dims);

/// The dimensions of a flavour. A given `dim` or `n_heads` replaces the flavour's, and dependent dimensions are
/// computed again: n_kv_heads = n_heads, and with llama3 head_dim = dim / n_heads (rounded down) and the FFN width.
/// RoPE is not scaled.
ModelDims flavor_dims(const Flavor& flavor, std::optional<std::int64_t> dim = {},
                      std::optional<std::int64_t> n_heads = {});

/// Width of the feed-forward: int(2/3 * 4 dim), times `multiplier` (rounded down), rounded up to `multiple_of`.
/// \source torchtitan v0.2.2 models/llama3/model/model.py, FeedForward
std::int64_t ffn_width(std::int64_t dim, std::int64_t multiple_of, double multiplier);

}  // namespace titan::recipe
