#pragma once
// The numbers by which models stretch RoPE for contexts longer than those of pre-training. rope_frequencies
// (recipe/model/rope_frequencies.h) applies them. Pure.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ckpt/base/result.h"

namespace titan::recipe {

/// The defaults are Llama 3.1's. Every llama3 of torchtitan has them, too. Members that a kind does not use keep their
/// defaults, so that equal scalings are equal values.
/// \source Hugging Face transformers, modeling_rope_utils.py; torchtitan v0.2.2 models/llama3/model/args.py,
/// RoPEScalingArgs
struct RopeScaling {
  double factor = 8, low_freq_factor = 1, high_freq_factor = 4;
  std::int64_t original_max_position_embeddings = 8192;
  enum class Kind : std::uint8_t { kLlama3, kLinear, kDynamic, kYarn, kLongrope } kind = Kind::kLlama3;
  double attention_factor = 1;           ///< of yarn and longrope: multiplies cosines and sines
  double beta_fast = 32, beta_slow = 1;  /// of yarn: rotations within the original length
  bool truncate = true;                  ///< of yarn: the bounds of the ramp are whole
  /// Of longrope: half of head_dim numbers each, up to the original length and beyond it.
  std::vector<double> short_factors, long_factors;
  bool operator==(const RopeScaling&) const = default;
};

/// model.rope_scaling of RoPE that is not scaled.
inline constexpr const char* kPlainRope = "none";

/// "llama3", "linear", ...
const char* rope_kind_name(RopeScaling::Kind kind);
/// The kind of that name; nothing for another.
std::optional<RopeScaling::Kind> rope_kind(std::string_view name);
/// The longest context that the scaling is made for: factor times the original length; 0 where it does not say.
double scaled_length(const RopeScaling& scaling);

/// What yarn multiplies cosines and sines by, unless a model says another number. `mscale` and `mscale_all_dim` are 0
/// where a model does not have both. \source Peng et al., YaRN; DeepSeek-V3's mscale
double yarn_attention(double factor, double mscale = 0, double mscale_all_dim = 0);
/// The same of longrope, of the longest over the original length.
double longrope_attention(double factor, std::int64_t original);

/// Whether the numbers make a scaling: the factor is at least 1, 0 < low < high frequency factor, 0 < slow < fast beta,
/// factors of frequencies are positive and as many in both lists, and the original length is 1 to 10^12.
bool is_sound(const RopeScaling& scaling);
/// The numbers of a text as rope_scaling_text writes it, sound or not; nothing for other texts. Numbers at the end that
/// yarn derives may be left out: "yarn:4:32768".
std::optional<RopeScaling> read_rope_scaling(std::string_view text);
/// Reads a text that must be sound. \error kInvalid
ckpt::Result<RopeScaling> parse_rope_scaling(const std::string& text);
/// The reverse, with the shortest numbers: the one text of equal scalings.
///
///     llama3:FACTOR:LOW_FREQ_FACTOR:HIGH_FREQ_FACTOR:ORIGINAL_MAX_POSITION_EMBEDDINGS
///     linear:FACTOR
///     dynamic:FACTOR:ORIGINAL
///     yarn:FACTOR:ORIGINAL:ATTENTION_FACTOR:BETA_FAST:BETA_SLOW:TRUNCATE
///     longrope:FACTOR:ORIGINAL:ATTENTION_FACTOR:SHORT,SHORT,...:LONG,LONG,...
std::string rope_scaling_text(const RopeScaling& scaling);

}  // namespace titan::recipe
