#pragma once
// The numbers by which Llama 3.1 and later stretch RoPE for contexts longer than those of pre-training. rope_table
// (libtrain/engine/model) applies them. Pure.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "ckpt/base/result.h"

namespace titan::recipe {

/// The defaults are Llama 3.1's. Every llama3 of torchtitan has them, too.
/// \source Hugging Face transformers, modeling_rope_utils.py, _compute_llama3_parameters; torchtitan v0.2.2
/// models/llama3/model/args.py, RoPEScalingArgs
struct RopeScaling {
  double factor = 8, low_freq_factor = 1, high_freq_factor = 4;
  std::int64_t original_max_position_embeddings = 8192;
  bool operator==(const RopeScaling&) const = default;
};

/// model.rope_scaling of RoPE that is not scaled.
inline constexpr const char* kPlainRope = "none";

/// Whether the factor is at least 1, 0 < low < high frequency factor, and the original length is 1 to 10^12.
bool is_sound(const RopeScaling& scaling);
/// The numbers of "llama3:8:1:4:8192" (factor, low, high, original length), sound or not; nothing for other texts.
std::optional<RopeScaling> read_rope_scaling(std::string_view text);
/// Reads a text that must be sound. \error kInvalid, kUnsupported for other kinds.
ckpt::Result<RopeScaling> parse_rope_scaling(const std::string& text);
/// The reverse, with the shortest numbers: the one text of equal scalings.
std::string rope_scaling_text(const RopeScaling& scaling);

}  // namespace titan::recipe
