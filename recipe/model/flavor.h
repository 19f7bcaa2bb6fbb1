#pragma once
// The named sizes of torchtitan's llama3. Pure.
#include <cstdint>
#include <optional>
#include <string_view>

#include "recipe/model/dims.h"

namespace titan::recipe {

/// A llama3 flavour of torchtitan 0.2.2. All have norm_eps 1e-5 and rope_theta 500000, and scale RoPE by RopeScaling's
/// defaults. \source torchtitan v0.2.2 models/llama3/__init__.py
struct Flavor {
  const char* name;
  std::int64_t dim, n_layers, n_heads, n_kv_heads, vocab_size;
  std::int64_t multiple_of;  ///< of the feed-forward's width
  double multiplier;         ///< of the feed-forward's width
};

/// The flavour `name`, or nullptr.
const Flavor* find_flavor(std::string_view name);

/// The dimensions of a flavour. A `dim` or `n_heads` that is given replaces the flavour's, and what follows from it is
/// derived again: head_dim = dim / n_heads (cut), n_kv_heads = n_heads, FFN width. RoPE is not scaled.
ModelDims flavor_dims(const Flavor& flavor, std::optional<std::int64_t> dim = {},
                      std::optional<std::int64_t> n_heads = {});

/// Width of the feed-forward: int(2/3 * 4 dim), times `multiplier` (cut to an integer), rounded up to `multiple_of`.
/// \source torchtitan v0.2.2 models/llama3/model/model.py, FeedForward
std::int64_t ffn_width(std::int64_t dim, std::int64_t multiple_of, double multiplier);

}  // namespace titan::recipe
