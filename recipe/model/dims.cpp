#include "recipe/model/dims.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "recipe/model/flavor.h"

namespace titan::recipe {
namespace {

/// What a configuration without a flavour leaves open is this one's, but RoPE is not scaled.
constexpr const char* kDefaultFlavor = "debugmodel";

std::string text(std::int64_t value) { return std::to_string(value); }

/// Shortest digits, without the ".0" that makes a TOML float of a whole number.
std::string digits(double value) {
  char buffer[32];
  return {buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr};
}

/// A whole text as a finite number; nothing when it is none.
std::optional<double> parse_number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::int64_t flavor_ffn(std::int64_t dim, const Flavor& flavor) {
  const auto width = ffn_width(static_cast<std::uint64_t>(dim), flavor.multiple_of, flavor.multiplier);
  return static_cast<std::int64_t>(width);
}

/// Whether nothing is left for a flavour to say. Older versions wrote the flavour's name and all it meant into
/// RUN/config.toml; the scaling of RoPE was not part of that.
bool gives_every_dimension(const Config::Model& model) {
  return model.dim && model.n_layers && model.n_heads && model.n_kv_heads && model.head_dim && model.ffn_dim &&
         model.vocab_size && model.norm_eps && model.rope_theta;
}

Result<std::optional<RopeScaling>> rope_scaling_of(const Config::Model& model) {
  const bool by_flavor = model.flavor && !gives_every_dimension(model);
  const std::string text = model.rope_scaling.value_or(by_flavor ? kFlavorRopeScaling : kPlainRope);
  if (text == kPlainRope) return std::optional<RopeScaling>();
  TITAN_ASSIGN_OR_RETURN(const RopeScaling scaling, parse_rope_scaling(text));
  return std::optional(scaling);
}

}  // namespace

Result<RopeScaling> parse_rope_scaling(const std::string& text) {
  const std::string kind = text.substr(0, text.find(':'));
  for (const char* later : {"linear", "dynamic", "yarn", "longrope"}) {
    if (kind == later)
      return ckpt::unsupported("model.rope_scaling '" + text + "': '" + kind +
                               "' is not supported yet; only llama3 is");
  }
  std::vector<double> numbers;
  bool readable = kind == "llama3";
  for (std::size_t at = kind.size(); readable && at < text.size();) {
    const std::size_t end = std::min(text.find(':', at + 1), text.size());
    const std::optional<double> number = parse_number(std::string_view(text).substr(at + 1, end - at - 1));
    readable = number.has_value();
    numbers.push_back(number.value_or(0));
    at = end;
  }
  constexpr double kMaxLength = 1e12;
  readable = readable && numbers.size() == 4 && numbers[3] >= 1 && numbers[3] <= kMaxLength &&
             numbers[3] == std::floor(numbers[3]);
  if (!readable)
    return ckpt::invalid("model.rope_scaling '" + text +
                         "': expected llama3:FACTOR:LOW_FREQ_FACTOR:HIGH_FREQ_FACTOR:ORIGINAL_MAX_POSITION_EMBEDDINGS")
        .with_hint("Llama 3.1 has \"llama3:8:1:4:8192\", Llama 3.2 \"llama3:32:1:4:8192\"");
  if (!(numbers[0] >= 1 && numbers[1] > 0 && numbers[2] > numbers[1]))
    return ckpt::invalid("model.rope_scaling '" + text +
                         "': the factor is at least 1, and 0 < low < high frequency factor");
  return RopeScaling{numbers[0], numbers[1], numbers[2], static_cast<std::int64_t>(numbers[3])};
}

std::string rope_scaling_text(const RopeScaling& scaling) {
  return "llama3:" + digits(scaling.factor) + ":" + digits(scaling.low_freq_factor) + ":" +
         digits(scaling.high_freq_factor) + ":" + std::to_string(scaling.original_max_position_embeddings);
}

Result<ModelDims> model_dims(const Config& config) {
  const Config::Model& model = config.model;
  const std::string name = model.flavor.value_or(kDefaultFlavor);
  const Flavor* flavor = find_flavor(name);
  if (flavor == nullptr)
    return ckpt::invalid("model.flavor: unknown flavour '" + name + "'; known: debugmodel, 8B, 70B, 405B");

  ModelDims dims;
  dims.dim = model.dim.value_or(flavor->dim);
  dims.n_layers = model.n_layers.value_or(flavor->n_layers);
  dims.n_heads = model.n_heads.value_or(flavor->n_heads);
  dims.n_kv_heads = model.n_kv_heads.value_or(model.n_heads ? dims.n_heads : flavor->n_kv_heads);
  dims.vocab_size = model.vocab_size.value_or(flavor->vocab_size);
  dims.norm_eps = model.norm_eps.value_or(1e-5);
  dims.rope_theta = model.rope_theta.value_or(500000);
  dims.tied = model.tied_embeddings.value_or(false);
  dims.qkv_bias = model.qkv_bias.value_or(false);
  TITAN_ASSIGN_OR_RETURN(dims.rope_scaling, rope_scaling_of(model));

  if (!model.head_dim && dims.dim % dims.n_heads != 0)
    return ckpt::invalid("model.dim " + text(dims.dim) + " is not a multiple of model.n_heads " + text(dims.n_heads))
        .with_hint("set model.head_dim, or other values of these two");
  dims.head_dim = model.head_dim.value_or(dims.dim / dims.n_heads);
  if (dims.head_dim % 2 != 0)
    return ckpt::invalid("model.head_dim " + text(dims.head_dim) +
                         (model.head_dim ? "" : " (= model.dim / model.n_heads)") + " is odd; RoPE rotates pairs");
  if (dims.n_heads % dims.n_kv_heads != 0)
    return ckpt::invalid("model.n_heads " + text(dims.n_heads) + " is not a multiple of model.n_kv_heads " +
                         text(dims.n_kv_heads));
  dims.ffn_dim = model.ffn_dim.value_or(flavor_ffn(dims.dim, *flavor));
  return dims;
}

std::vector<ckpt::ParameterMeta> model_parameters(const ModelDims& dims) {
  const auto size = [](std::int64_t value) { return static_cast<std::uint64_t>(value); };
  const std::uint64_t dim = size(dims.dim), ffn = size(dims.ffn_dim), vocab = size(dims.vocab_size);
  const std::uint64_t q = size(dims.n_heads * dims.head_dim), kv = size(dims.n_kv_heads * dims.head_dim);

  std::vector<ckpt::ParameterMeta> list;
  list.push_back({"tok_embeddings.weight", {vocab, dim}});
  for (std::int64_t i = 0; i < dims.n_layers; ++i) {
    const std::string layer = "layers." + std::to_string(i) + ".";
    const auto project = [&](const char* name, std::uint64_t rows) {
      list.push_back({layer + "attention." + name + ".weight", {rows, dim}});
      if (dims.qkv_bias) list.push_back({layer + "attention." + name + ".bias", {rows}});
    };
    project("wq", q);
    project("wk", kv);
    project("wv", kv);
    list.push_back({layer + "attention.wo.weight", {dim, q}});
    list.push_back({layer + "feed_forward.w1.weight", {ffn, dim}});
    list.push_back({layer + "feed_forward.w2.weight", {dim, ffn}});
    list.push_back({layer + "feed_forward.w3.weight", {ffn, dim}});
    list.push_back({layer + "attention_norm.weight", {dim}});
    list.push_back({layer + "ffn_norm.weight", {dim}});
  }
  list.push_back({"norm.weight", {dim}});
  if (!dims.tied) list.push_back({"output.weight", {vocab, dim}});
  return list;
}

}  // namespace titan::recipe
