#include "converters/model_config.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "ckpt/base/toml_text.h"
#include "ckpt/plan/lr_settings.h"
#include "converters/flavor.h"

namespace titan::convert {

using ckpt::Result;
using ckpt::Settings;
using ckpt::Status;

namespace {

constexpr std::uint64_t kMaxDimension = std::uint64_t{1} << 31;
constexpr std::uint64_t kMaxLayers = 100'000;

struct Dimension {
  const char* key;
  std::uint64_t ModelConfig::*member;
};
constexpr Dimension kDimensions[] = {
    {"model.dim", &ModelConfig::dim},
    {"model.n_layers", &ModelConfig::n_layers},
    {"model.n_heads", &ModelConfig::n_heads},
    {"model.n_kv_heads", &ModelConfig::n_kv_heads},
    {"model.head_dim", &ModelConfig::head_dim},
    {"model.ffn_dim", &ModelConfig::ffn_dim},
    {"model.vocab_size", &ModelConfig::vocab_size},
};

constexpr const char* kTied = "model.tied_embeddings";
constexpr const char* kScaling = "model.rope_scaling";
constexpr std::uint64_t kMaxPositions = 1'000'000'000'000;

bool parse(std::string_view text, std::uint64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}
bool parse(std::string_view text, double& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}
bool parse(std::string_view text, bool& value) {
  value = text == "true";
  return value || text == "false";
}

// Shortest digits.
std::string digits(double value) {
  char buffer[64];
  return {buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr};
}

// "llama3:8:1:4:8192", in quotes.
std::string scaling_text(const RopeScaling& scaling) {
  return "\"llama3:" + digits(scaling.factor) + ":" + digits(scaling.low_freq_factor) + ":" +
         digits(scaling.high_freq_factor) + ":" + std::to_string(scaling.original_max_position_embeddings) + "\"";
}

bool parse(std::string_view text, RopeScaling& scaling) {
  constexpr std::string_view kBegin = "\"llama3";
  if (!text.starts_with(kBegin) || !text.ends_with('"')) return false;
  text = text.substr(kBegin.size(), text.size() - kBegin.size() - 1);
  std::vector<std::string_view> parts;
  while (text.starts_with(':')) {
    const std::size_t end = std::min(text.find(':', 1), text.size());
    parts.push_back(text.substr(1, end - 1));
    text.remove_prefix(end);
  }
  return text.empty() && parts.size() == 4 && parse(parts[0], scaling.factor) &&
         parse(parts[1], scaling.low_freq_factor) && parse(parts[2], scaling.high_freq_factor) &&
         parse(parts[3], scaling.original_max_position_embeddings);
}

// Takes values out of settings and remembers what was wrong.
class Taker {
 public:
  explicit Taker(const Settings& settings) : settings_(settings) {}
  // Accepted settings say of keys that were left open that they were.
  const std::string* find(std::string_view key) const {
    const auto at = std::ranges::find(settings_, key, &Settings::value_type::first);
    return at == settings_.end() || at->second == ckpt::kNotSet ? nullptr : &at->second;
  }
  template <typename T>
  void take(const char* key, T& value, bool required) {
    const std::string* text = find(key);
    if (text == nullptr) {
      if (required) missing_ += (missing_.empty() ? "" : ", ") + std::string(key);
    } else if (!parse(*text, value) && wrong_.empty()) {
      wrong_ = std::string(key) + " is " + *text;
    }
  }
  const std::string& missing() const { return missing_; }
  const std::string& wrong() const { return wrong_; }

 private:
  const Settings& settings_;
  std::string missing_, wrong_;
};

}  // namespace

Status check_model(const ModelConfig& model) {
  for (const Dimension& dimension : kDimensions) {
    const std::uint64_t value = model.*dimension.member;
    if (value == 0 || value > kMaxDimension)
      return ckpt::unsupported(std::string(dimension.key) + " is " + std::to_string(value) + ", expected 1 to 2^31");
  }
  if (model.n_layers > kMaxLayers)
    return ckpt::unsupported("model.n_layers is " + std::to_string(model.n_layers) + ", expected at most 100000");
  if (model.head_dim % 2 != 0)
    return ckpt::unsupported("model.head_dim is " + std::to_string(model.head_dim) +
                             ", which is odd: RoPE rotates pairs");
  if (model.n_heads % model.n_kv_heads != 0) {
    return ckpt::unsupported("model.n_heads " + std::to_string(model.n_heads) +
                             " is not a multiple of model.n_kv_heads " + std::to_string(model.n_kv_heads));
  }
  if (!(model.norm_eps > 0) || !(model.rope_theta > 0))
    return ckpt::unsupported("model.norm_eps and model.rope_theta must be positive");
  if (const auto& scaling = model.rope_scaling) {
    const bool sound =
        scaling->factor >= 1 && scaling->low_freq_factor > 0 && scaling->high_freq_factor > scaling->low_freq_factor &&
        scaling->original_max_position_embeddings >= 1 && scaling->original_max_position_embeddings <= kMaxPositions;
    if (!sound)
      return ckpt::unsupported(std::string(kScaling) + " is " + scaling_text(*scaling) +
                               ": the factor is at least 1, and 0 < low < high frequency factor");
  }
  return ckpt::ok_status();
}

Settings model_settings(const ModelConfig& model) {
  Settings settings;
  for (const Dimension& dimension : kDimensions)
    settings.emplace_back(dimension.key, std::to_string(model.*dimension.member));
  settings.emplace_back("model.norm_eps", ckpt::toml_float(model.norm_eps));
  settings.emplace_back("model.rope_theta", ckpt::toml_float(model.rope_theta));
  settings.emplace_back(kTied, model.tied ? "true" : "false");
  if (model.qkv_bias) settings.emplace_back("model.qkv_bias", "true");
  if (model.rope_scaling) settings.emplace_back(kScaling, scaling_text(*model.rope_scaling));
  std::ranges::sort(settings);
  return settings;
}

Result<ModelConfig> model_from_settings(const std::string& what, const Settings& settings) {
  ModelConfig model;
  Taker taker(settings);
  for (const Dimension& dimension : kDimensions)
    taker.take(dimension.key, model.*dimension.member, dimension.member != &ModelConfig::head_dim);
  // As titan-train reads its configuration. Without dim or heads it is those that are asked for.
  const bool heads = model.dim > 0 && model.n_heads > 0;
  if (taker.find("model.head_dim") == nullptr && heads && model.dim % model.n_heads == 0)
    model.head_dim = model.dim / model.n_heads;
  else if (heads)
    taker.take("model.head_dim", model.head_dim, true);
  taker.take("model.norm_eps", model.norm_eps, true);
  taker.take("model.rope_theta", model.rope_theta, true);
  taker.take(kTied, model.tied, false);
  taker.take("model.qkv_bias", model.qkv_bias, false);
  if (const std::string* scaling = taker.find(kScaling); scaling != nullptr && *scaling != "\"none\"")
    taker.take(kScaling, model.rope_scaling.emplace(), false);
  if (!taker.missing().empty())
    return ckpt::incompatible(what + " does not say what its model is: " + taker.missing() + " missing")
        .with_hint("a configuration file can say it: --config FILE.toml with these keys under [model]");
  if (!taker.wrong().empty())
    return ckpt::incompatible(what + ": " + taker.wrong() + ", which has another type than expected");
  if (const Status checked = check_model(model); !checked.ok())
    return ckpt::incompatible(what + ": " + checked.message);
  return model;
}

std::vector<std::string> model_keys() {
  std::vector<std::string> keys = {"model.norm_eps", "model.rope_theta", kTied, "model.qkv_bias", kScaling};
  for (const Dimension& dimension : kDimensions) keys.emplace_back(dimension.key);
  std::ranges::sort(keys);
  return keys;
}

Result<Settings> agreed_rows(const std::string& what, const Settings& own, const Settings& given,
                             const Comparison& how) {
  const auto compared = [&](const std::string& key) { return !how.untie || key != kTied; };
  Settings said;
  for (const std::string& key : model_keys())
    if (const std::string value = ckpt::setting(given, key); value != ckpt::kNotSet && compared(key))
      said.emplace_back(key, value);
  const Result<ModelConfig> model = model_from_settings(what, own);
  if (!model.ok()) return ckpt::with_rows(own, said);
  const Settings implied = how.torchtitan ? torchtitan_rows(given, *model) : flavor_rows(given);
  TITAN_ASSIGN_OR_RETURN(
      const ModelConfig other,
      model_from_settings("the configuration", ckpt::with_rows(ckpt::with_rows(own, implied), said)));
  const Settings here = model_settings(*model), there = model_settings(other);
  std::string differing;
  bool by_flavor = false;
  for (const std::string& key : model_keys()) {
    const std::string mine = ckpt::setting(here, key), theirs = ckpt::setting(there, key);
    if (mine == theirs || !compared(key)) continue;
    differing += (differing.empty() ? "" : "; ") + key + " is " + mine + ", the configuration says " + theirs;
    by_flavor = by_flavor || ckpt::has_setting(implied, key);
  }
  if (differing.empty()) return own;
  const Status refused = ckpt::incompatible(what + ": " + differing);
  return by_flavor ? refused.with_hint(
                         "model.flavor = " + ckpt::setting(given, "model.flavor") +
                         " says what the configuration's other keys leave open: leave it out, or name the model's")
                   : refused;
}

std::vector<ckpt::ParameterMeta> model_parameters(const ModelConfig& model) {
  const std::uint64_t q = model.n_heads * model.head_dim, kv = model.n_kv_heads * model.head_dim;
  std::vector<ckpt::ParameterMeta> list;
  list.push_back({"tok_embeddings.weight", {model.vocab_size, model.dim}});
  for (std::uint64_t i = 0; i < model.n_layers; ++i) {
    const std::string layer = "layers." + std::to_string(i) + ".";
    const auto projection = [&](const char* name, std::uint64_t rows) {
      list.push_back({layer + "attention." + name + ".weight", {rows, model.dim}});
      if (model.qkv_bias) list.push_back({layer + "attention." + name + ".bias", {rows}});
    };
    projection("wq", q);
    projection("wk", kv);
    projection("wv", kv);
    list.push_back({layer + "attention.wo.weight", {model.dim, q}});
    list.push_back({layer + "feed_forward.w1.weight", {model.ffn_dim, model.dim}});
    list.push_back({layer + "feed_forward.w2.weight", {model.dim, model.ffn_dim}});
    list.push_back({layer + "feed_forward.w3.weight", {model.ffn_dim, model.dim}});
    list.push_back({layer + "attention_norm.weight", {model.dim}});
    list.push_back({layer + "ffn_norm.weight", {model.dim}});
  }
  list.push_back({"norm.weight", {model.dim}});
  if (!model.tied) list.push_back({"output.weight", {model.vocab_size, model.dim}});
  return list;
}

}  // namespace titan::convert
