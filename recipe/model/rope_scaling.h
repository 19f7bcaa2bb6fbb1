#pragma once
// The parameters of RoPE scaling, which lets a model use contexts longer than in pre-training.
// recipe/model/rope_frequencies.h applies them. Pure.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ckpt/base/result.h"

namespace titan::recipe {

/// The defaults are those of Llama 3.1 and of all llama3 flavours of torchtitan. Members that a kind does not use keep
/// their defaults, so that equal scalings compare equal.
/// \source Hugging Face transformers, modeling_rope_utils.py; torchtitan v0.2.2 models/llama3/model/args.py,
/// RoPEScalingArgs
struct RopeScaling {
  double factor = 8, low_freq_factor = 1, high_freq_factor = 4;
  std::int64_t original_max_position_embeddings = 8192;
  enum class Kind : std::uint8_t { kLlama3, kLinear, kDynamic, kYarn, kLongrope } kind = Kind::kLlama3;
  double attention_factor = 1;           ///< for yarn and longrope: factor of cosines and sines
  double beta_fast = 32, beta_slow = 1;  ///< for yarn: bounds of the ramp, in rotations within the original length
  bool truncate = true;                  ///< for yarn: the bounds of the ramp are rounded to whole numbers
  /// For longrope: two lists of head_dim / 2 numbers, for lengths up to the original length and for longer ones.
  std::vector<double> short_factors, long_factors;
  bool operator==(const RopeScaling&) const = default;
};

/// The value of model.rope_scaling for RoPE without scaling.
inline constexpr const char* kPlainRope = "none";

/// "llama3", "linear", ...
const char* rope_kind_name(RopeScaling::Kind kind);
/// The kind with that name; nullopt for other names.
std::optional<RopeScaling::Kind> rope_kind(std::string_view name);
/// The longest context in tokens for which the scaling is made: factor * original length; for dynamic, the original
/// length; for linear 0, because its parameters do not give a length.
double scaled_length(const RopeScaling& scaling);

/// The factor of cosines and sines in yarn, unless a model sets its own. `mscale` and `mscale_all_dim` are 0 unless a
/// model has both. \source Peng et al., YaRN; DeepSeek-V3's mscale
double yarn_attention(double factor, double mscale = 0, double mscale_all_dim = 0);
/// The factor of cosines and sines in longrope; `factor` is the longest length / the original length.
double longrope_attention(double factor, std::int64_t original);

/// Whether the parameters are valid: the factor is at least 1 (for longrope above 0), the attention factor is above 0,
/// 0 < low < high frequency factor, 0 < slow < fast beta, longrope's lists have the same length and only numbers above
/// 0, and the original length is 1 to 10^12.
bool is_sound(const RopeScaling& scaling);
/// Parses a text in the form of rope_scaling_text(); nullopt for a text in another form. The parameters need not be
/// valid. Trailing numbers that yarn can derive may be missing: "yarn:4:32768".
std::optional<RopeScaling> read_rope_scaling(std::string_view text);
/// As read_rope_scaling, but the parameters must be valid. \error kInvalid
ckpt::Result<RopeScaling> parse_rope_scaling(const std::string& text);
/// The text of a scaling, with the shortest form of numbers. Equal scalings have the same text:
///
///     llama3:FACTOR:LOW_FREQ_FACTOR:HIGH_FREQ_FACTOR:ORIGINAL_MAX_POSITION_EMBEDDINGS
///     linear:FACTOR
///     dynamic:FACTOR:ORIGINAL
///     yarn:FACTOR:ORIGINAL:ATTENTION_FACTOR:BETA_FAST:BETA_SLOW:TRUNCATE
///     longrope:FACTOR:ORIGINAL:ATTENTION_FACTOR:SHORT,SHORT,...:LONG,LONG,...
std::string rope_scaling_text(const RopeScaling& scaling);

}  // namespace titan::recipe
