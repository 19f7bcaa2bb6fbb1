#pragma once
// The rotation frequency of RoPE for each pair of a head, from the model's base and scaling. Pure.
#include <cstdint>
#include <optional>
#include <vector>

#include "recipe/model/rope_scaling.h"

namespace titan::recipe {

/// What RoPE needs for one model.
struct RopeFrequencies {
  std::vector<float> inverse;  ///< radians per token, for each of the head_dim / 2 pairs
  double attention = 1;        ///< factor of cosines and sines
};

/// Computes the frequencies. `length` is the length of the longest sequence in tokens; dynamic scaling and longrope
/// depend on it. Computes in fp32, as torchtitan and transformers do: with exact frequencies the angle at position 8192
/// would differ from theirs by 1e-4.
/// \source Su et al., RoFormer; Hugging Face transformers, modeling_rope_utils.py
RopeFrequencies rope_frequencies(std::int64_t head_dim, double theta, const std::optional<RopeScaling>& scaling,
                                 std::int64_t length);

}  // namespace titan::recipe
