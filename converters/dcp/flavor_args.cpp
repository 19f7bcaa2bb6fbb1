#include "converters/dcp/flavor_args.h"

#include <cstdio>
#include <cstdlib>

#include "ckpt/base/toml_text.h"
#include "converters/hf/families.h"
#include "recipe/model/flavor.h"

namespace titan::convert::dcp {
namespace {

using recipe::RopeScaling;

constexpr std::int64_t kMultipleOf = 256;  // TransformerModelArgs' default

std::string feed_forward(const recipe::ModelDims& model) {
  if (recipe::ffn_width(model.dim, kMultipleOf, 1) == model.ffn_dim)
    return "multiple_of=" + std::to_string(kMultipleOf);
  const auto base = static_cast<double>(8 * model.dim / 3);
  // Uses the fewest digits of `multiplier` for which int(multiplier * base) is the feed-forward width.
  char text[64] = "";
  for (int digits = 1; digits <= 17; ++digits) {
    std::snprintf(text, sizeof text, "%.*g", digits, (static_cast<double>(model.ffn_dim) + 0.5) / base);
    if (static_cast<std::int64_t>(std::strtod(text, nullptr) * base) == model.ffn_dim) break;
  }
  return "multiple_of=1, ffn_dim_multiplier=" + ckpt::toml_float(std::strtod(text, nullptr));
}

std::string rope_scaling(const recipe::ModelDims& model) {
  const auto& rope = model.rope_scaling;
  if (!rope) return ", rope_scaling_args=RoPEScalingArgs(scaling_factor=1)";
  if (*rope == RopeScaling{}) return "";
  return ", rope_scaling_args=RoPEScalingArgs(scaling_factor=" + ckpt::toml_float(rope->factor) +
         ", low_freq_factor=" + ckpt::toml_float(rope->low_freq_factor) +
         ", high_freq_factor=" + ckpt::toml_float(rope->high_freq_factor) +
         ", original_max_position_embeddings=" + std::to_string(rope->original_max_position_embeddings) + ")";
}

}  // namespace

ckpt::Status check_flavor(const std::string& what, const recipe::ModelDims& model) {
  const bool scaled = model.rope_scaling && (model.qk_norm || model.rope_scaling->kind != RopeScaling::Kind::kLlama3);
  if (scaled)
    return ckpt::unsupported(what + ": RoPE is scaled by \"" + recipe::rope_scaling_text(*model.rope_scaling) +
                             "\", which torchtitan's " + recipe::family_of(model) + " does not do")
        .with_hint(huggingface_writes(model));
  if (model.qk_norm) return {};
  if (model.head_dim == model.dim / model.n_heads) return {};
  return ckpt::unsupported(what + ": model.head_dim is " + std::to_string(model.head_dim) +
                           ", but torchtitan's llama3 always has dim / n_heads, here " + std::to_string(model.dim) +
                           " / " + std::to_string(model.n_heads) + " = " + std::to_string(model.dim / model.n_heads))
      .with_hint(huggingface_writes(model));
}

std::string flavor_text(const recipe::ModelDims& model) {
  if (model.qk_norm)
    return "Qwen3ModelArgs(dim=" + std::to_string(model.dim) + ", n_layers=" + std::to_string(model.n_layers) +
           ", n_heads=" + std::to_string(model.n_heads) + ", n_kv_heads=" + std::to_string(model.n_kv_heads) +
           ", vocab_size=" + std::to_string(model.vocab_size) + ", head_dim=" + std::to_string(model.head_dim) +
           ", hidden_dim=" + std::to_string(model.ffn_dim) + ", norm_eps=" + ckpt::toml_float(model.norm_eps) +
           ", rope_theta=" + ckpt::toml_float(model.rope_theta) + ", qk_norm=True" +
           (model.tied ? ", enable_weight_tying=True)" : ")");
  return "TransformerModelArgs(dim=" + std::to_string(model.dim) + ", n_layers=" + std::to_string(model.n_layers) +
         ", n_heads=" + std::to_string(model.n_heads) + ", n_kv_heads=" + std::to_string(model.n_kv_heads) +
         ", vocab_size=" + std::to_string(model.vocab_size) + ", norm_eps=" + ckpt::toml_float(model.norm_eps) +
         ", rope_theta=" + ckpt::toml_float(model.rope_theta) + rope_scaling(model) + ", " + feed_forward(model) + ")";
}

std::string newer_flavor_text(const recipe::ModelDims& model) {
  std::string scaling = "\"none\"";
  if (const auto& rope = model.rope_scaling)
    scaling = "\"llama\", scaling_factor=" + ckpt::toml_float(rope->factor) +
              ", low_freq_factor=" + ckpt::toml_float(rope->low_freq_factor) +
              ", high_freq_factor=" + ckpt::toml_float(rope->high_freq_factor) +
              ", original_max_position_embeddings=" + std::to_string(rope->original_max_position_embeddings);
  return recipe::family_of(model) + std::string(" of dim=") + std::to_string(model.dim) +
         ", n_layers=" + std::to_string(model.n_layers) + ", n_heads=" + std::to_string(model.n_heads) +
         ", n_kv_heads=" + std::to_string(model.n_kv_heads) + ", hidden_dim=" + std::to_string(model.ffn_dim) +
         ", vocab_size=" + std::to_string(model.vocab_size) +
         ", fuse_qkv=True, norms with eps=" + ckpt::toml_float(model.norm_eps) +
         (model.tied ? ", enable_weight_tying=True" : "") + " and " + (model.qk_norm ? "CosSinRoPE" : "ComplexRoPE") +
         "(dim=" + std::to_string(model.head_dim) + ", theta=" + ckpt::toml_float(model.rope_theta) +
         ", scaling=" + scaling + ")";
}

}  // namespace titan::convert::dcp
