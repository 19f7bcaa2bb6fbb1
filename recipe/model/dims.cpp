#include "recipe/model/dims.h"

#include <algorithm>
#include <limits>
#include <string>

#include "recipe/keys/config.h"
#include "recipe/model/flavor.h"

namespace titan::recipe {
namespace {

/// The flavour of a configuration that sets none. It is applied without RoPE scaling.
constexpr const char* kDefaultFlavor = "debugmodel";

constexpr std::int64_t kMaxDimension = std::int64_t{1} << 31;
constexpr std::int64_t kMaxLayers = 100'000;

/// Whether every dimension is given, so that the flavour must not add RoPE scaling. Older versions wrote the flavour's
/// name and all its values into RUN/config.toml, but did not scale RoPE.
bool gives_every_dimension(const Config::Model& model) {
  return model.dim && model.n_layers && model.n_heads && model.n_kv_heads && model.head_dim && model.ffn_dim &&
         model.vocab_size && model.norm_eps && model.rope_theta;
}

Result<std::optional<RopeScaling>> rope_scaling_of(const Config::Model& model) {
  const bool by_flavor = model.flavor && model.name == kLlama3 && !gives_every_dimension(model);
  if (!model.rope_scaling) return by_flavor ? std::optional(RopeScaling{}) : std::nullopt;
  if (*model.rope_scaling == kPlainRope) return std::optional<RopeScaling>();
  TITAN_ASSIGN_OR_RETURN(const RopeScaling scaling, parse_rope_scaling(*model.rope_scaling));
  return std::optional(scaling);
}

/// Checks head counts and head_dim. `derived`: how head_dim was computed if it was not given, for messages.
Status check_heads(const ModelDims& dims, const std::string& derived = "") {
  if (dims.head_dim % 2 != 0)
    return ckpt::invalid("model.head_dim " + std::to_string(dims.head_dim) + derived + " is odd; RoPE rotates pairs");
  if (dims.n_heads % dims.n_kv_heads != 0)
    return ckpt::invalid("model.n_heads " + std::to_string(dims.n_heads) + " is not a multiple of model.n_kv_heads " +
                         std::to_string(dims.n_kv_heads));
  return ckpt::ok_status();
}

/// Checks that longrope has one factor for each pair of rows of a head.
Status check_factors(const ModelDims& dims) {
  if (!dims.rope_scaling || dims.rope_scaling->kind != RopeScaling::Kind::kLongrope) return ckpt::ok_status();
  const std::size_t found = dims.rope_scaling->short_factors.size();
  if (found == static_cast<std::size_t>(dims.head_dim / 2)) return ckpt::ok_status();
  return ckpt::invalid("model.rope_scaling: longrope has " + std::to_string(found) + " factors, expected " +
                       std::to_string(dims.head_dim / 2) + ", half of model.head_dim");
}

Status check_norms(const ModelDims& dims) {
  if (!dims.whole_qk_norm || dims.qk_norm) return ckpt::ok_status();
  return ckpt::invalid("model.whole_qk_norm says how queries and keys are normed, and model.qk_norm is false");
}

Status check_experts(const ModelDims& dims) {
  // Each expert has three tensors, which are listed by name.
  constexpr std::int64_t kMostExperts = 65536, kMostOfAllLayers = 200'000;
  const std::string count = std::to_string(dims.n_experts), taken = std::to_string(dims.experts_per_token);
  if (dims.n_experts < 0 || dims.n_experts > kMostExperts)
    return ckpt::invalid("model.n_experts is " + count + ", expected 1 to 65536, or 0 for none");
  if (!dims.experts && (dims.experts_per_token != 0 || dims.route_norm))
    return ckpt::invalid("model.experts_per_token and model.route_norm are of experts, and model.n_experts is not set");
  if (dims.n_experts > 0 && dims.n_layers > kMostOfAllLayers / dims.n_experts)
    return ckpt::invalid("model.n_experts is " + count + " in each of " + std::to_string(dims.n_layers) +
                         " layers, expected at most " + std::to_string(kMostOfAllLayers) + " in all");
  if (dims.experts && (dims.experts_per_token < 1 || dims.experts_per_token > dims.n_experts))
    return ckpt::invalid("model.experts_per_token is " + taken + ", expected 1 to model.n_experts, which is " + count);
  return ckpt::ok_status();
}

}  // namespace

std::int64_t to_dimension(std::uint64_t size) {
  return static_cast<std::int64_t>(std::min<std::uint64_t>(size, std::numeric_limits<std::int64_t>::max()));
}

Status check_dims(const ModelDims& dims) {
  for (const auto& [key, member] : kModelSizes)
    if (const std::int64_t value = dims.*member; value < 1 || value > kMaxDimension)
      return ckpt::unsupported(std::string(key) + " is " + std::to_string(value) + ", expected 1 to 2^31");
  if (dims.n_layers > kMaxLayers)
    return ckpt::unsupported("model.n_layers is " + std::to_string(dims.n_layers) + ", expected at most 100000");
  if (const Status heads = check_heads(dims); !heads.ok()) return ckpt::unsupported(heads.message);
  if (!(dims.norm_eps > 0) || !(dims.rope_theta > 0))
    return ckpt::unsupported("model.norm_eps and model.rope_theta must be positive");
  if (dims.rope_scaling && !is_sound(*dims.rope_scaling))
    return ckpt::unsupported(parse_rope_scaling(rope_scaling_text(*dims.rope_scaling)).status().message);
  for (const Status& checked : {check_factors(dims), check_norms(dims), check_experts(dims)})
    if (!checked.ok()) return ckpt::unsupported(checked.message);
  if (dims.window.tokens < 0 || dims.window.tokens > kMaxDimension)
    return ckpt::unsupported("model.sliding_window is " + std::to_string(dims.window.tokens) +
                             ", expected 1 to 2^31, or 0 for none");
  return ckpt::ok_status();
}

Result<ModelDims> model_dims(const Config& config) {
  const Config::Model& model = config.model;
  const std::string name = model.flavor.value_or(kDefaultFlavor);
  const Flavor* flavor = find_flavor(name, model.name);
  if (flavor == nullptr)
    return ckpt::invalid("model.flavor: unknown flavour '" + name + "'" +
                         (model.name == kLlama3 ? "" : " of " + model.name) + "; known: " + flavor_names(model.name));

  ModelDims dims = flavor_dims(*flavor, model.dim, model.n_heads);
  dims.n_layers = model.n_layers.value_or(dims.n_layers);
  dims.n_kv_heads = model.n_kv_heads.value_or(dims.n_kv_heads);
  dims.vocab_size = model.vocab_size.value_or(dims.vocab_size);
  dims.norm_eps = model.norm_eps.value_or(dims.norm_eps);
  dims.rope_theta = model.rope_theta.value_or(dims.rope_theta);
  dims.tied = model.tied_embeddings.value_or(dims.tied);
  dims.qkv_bias = model.qkv_bias.value_or(dims.qkv_bias);
  dims.qk_norm = model.qk_norm.value_or(dims.qk_norm);
  dims.whole_qk_norm = model.whole_qk_norm.value_or(dims.whole_qk_norm);
  dims.post_norm = model.post_norm.value_or(dims.post_norm);
  dims.n_experts = model.n_experts.value_or(0);
  dims.experts_per_token = model.experts_per_token.value_or(0);
  dims.route_norm = model.route_norm.value_or(false);
  dims.experts = dims.n_experts != 0;
  dims.ffn_dim = model.ffn_dim.value_or(dims.ffn_dim);
  TITAN_ASSIGN_OR_RETURN(dims.rope_scaling, rope_scaling_of(model));

  if (!model.head_dim && !flavor->is_qwen3() && dims.dim % dims.n_heads != 0)
    return ckpt::invalid("model.dim " + std::to_string(dims.dim) + " is not a multiple of model.n_heads " +
                         std::to_string(dims.n_heads))
        .with_hint("set model.head_dim, or other values of these two");
  dims.head_dim = model.head_dim.value_or(dims.head_dim);
  TITAN_RETURN_IF_ERROR(check_heads(dims, model.head_dim ? "" : " (= model.dim / model.n_heads)"));
  TITAN_RETURN_IF_ERROR(check_factors(dims));
  TITAN_RETURN_IF_ERROR(check_norms(dims));
  TITAN_RETURN_IF_ERROR(check_experts(dims));
  TITAN_ASSIGN_OR_RETURN(dims.window, sliding_window(model.sliding_window.value_or(0),
                                                     model.sliding_window_layers.value_or(kAllLayers), dims.n_layers));
  return dims;
}

void set_dims(const ModelDims& dims, Config& config) {
  Config::Model& model = config.model;
  model.dim = dims.dim;
  model.n_layers = dims.n_layers;
  model.n_heads = dims.n_heads;
  model.n_kv_heads = dims.n_kv_heads;
  model.head_dim = dims.head_dim;
  model.ffn_dim = dims.ffn_dim;
  model.vocab_size = dims.vocab_size;
  model.norm_eps = dims.norm_eps;
  model.rope_theta = dims.rope_theta;
  model.tied_embeddings = dims.tied;
  model.qkv_bias = dims.qkv_bias;
  model.qk_norm = dims.qk_norm;
  // Keys that are younger than others stay unset if they are off, so that configurations of models without them keep
  // their text.
  const auto later = [](bool on) { return on ? std::optional(true) : std::nullopt; };
  model.whole_qk_norm = later(dims.whole_qk_norm);
  model.post_norm = later(dims.post_norm);
  model.n_experts.reset();
  model.experts_per_token.reset();
  if (dims.experts) {
    model.n_experts = dims.n_experts;
    model.experts_per_token = dims.experts_per_token;
  }
  model.route_norm = later(dims.route_norm);
  model.sliding_window.reset();
  model.sliding_window_layers.reset();
  if (dims.window.tokens != 0) model.sliding_window = dims.window.tokens;
  if (!dims.window.layers.empty()) model.sliding_window_layers = layers_text(dims.window);
  // The scaling is written even if there is none, because a flavour's name alone would add its own.
  if (dims.rope_scaling)
    model.rope_scaling = rope_scaling_text(*dims.rope_scaling);
  else if (model.flavor)
    model.rope_scaling = kPlainRope;
}

}  // namespace titan::recipe
