#pragma once
// The named sizes of torchtitan's llama3, for trainer and converters alike.
#include <cstdint>
#include <string_view>

namespace titan::recipe {

/// A llama3 flavour of torchtitan 0.2.2. All have norm_eps 1e-5 and rope_theta 500000, and scale RoPE by
/// kFlavorRopeScaling. \source torchtitan v0.2.2 models/llama3/__init__.py
struct Flavor {
  const char* name;
  std::uint64_t dim, n_layers, n_heads, n_kv_heads, vocab_size;
  std::uint64_t multiple_of;  ///< of the feed-forward's width
  double multiplier;          ///< of the feed-forward's width
};

/// How every llama3 of torchtitan scales RoPE, as model.rope_scaling says it.
/// \source torchtitan v0.2.2 models/llama3/model/args.py, RoPEScalingArgs
inline constexpr const char* kFlavorRopeScaling = "llama3:8:1:4:8192";

/// The flavour `name`, or nullptr.
const Flavor* find_flavor(std::string_view name);

/// Width of the feed-forward: int(2/3 * 4 dim), times `multiplier` (cut to an integer), rounded up to `multiple_of`.
/// \source torchtitan v0.2.2 models/llama3/model/model.py, FeedForward
std::uint64_t ffn_width(std::uint64_t dim, std::uint64_t multiple_of, double multiplier);

}  // namespace titan::recipe
