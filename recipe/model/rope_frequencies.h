#pragma once
// How fast RoPE turns each pair of a head, by the model's base and scaling. Pure.
#include <cstdint>
#include <optional>
#include <vector>

#include "recipe/model/rope_scaling.h"

namespace titan::recipe {

struct RopeFrequencies {
  std::vector<float> inverse;  ///< radians a token, for each of the head_dim / 2 pairs
  double attention = 1;        ///< multiplies cosines and sines
};

/// `length`: of the longest sequence of the computation, by which dynamic and longrope choose. Computed in fp32 as
/// torchtitan and transformers do: at position 8192 an exact frequency turns by 1e-4 otherwise.
/// \source Su et al., RoFormer; Hugging Face transformers, modeling_rope_utils.py
RopeFrequencies rope_frequencies(std::int64_t head_dim, double theta, const std::optional<RopeScaling>& scaling,
                                 std::int64_t length);

}  // namespace titan::recipe
