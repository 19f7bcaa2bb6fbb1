#pragma once
// How fast RoPE rotates each pair of a head, by the model's base and scaling. Pure.
#include <cstdint>
#include <optional>
#include <vector>

#include "recipe/model/rope_scaling.h"

namespace titan::recipe {

struct RopeFrequencies {
  std::vector<float> inverse;  ///< radians per token, for each of the head_dim / 2 pairs
  double attention = 1;        ///< factor of cosines and sines
};

/// `length` is that of the longest sequence; dynamic and longrope depend on it. Computed in fp32, as in torchtitan and
/// transformers: exact frequencies would differ from theirs by 1e-4 in the rotation at position 8192.
/// \source Su et al., RoFormer; Hugging Face transformers, modeling_rope_utils.py
RopeFrequencies rope_frequencies(std::int64_t head_dim, double theta, const std::optional<RopeScaling>& scaling,
                                 std::int64_t length);

}  // namespace titan::recipe
