#include "recipe/model/manifest_dims.h"

#include <algorithm>
#include <string_view>
#include <type_traits>

#include "ckpt/base/text.h"
#include "ckpt/base/toml_text.h"
#include "ckpt/plan/lr_settings.h"

namespace titan::recipe {
namespace {

template <typename T>
bool parse(std::string_view text, T& value) {
  const std::optional<T> number = ckpt::number_of<T>(text);
  value = number.value_or(value);
  return number && (std::is_floating_point_v<T> || value >= 0);
}
bool parse(std::string_view text, bool& value) {
  value = text == "true";
  return value || text == "false";
}
bool parse(std::string_view text, std::string& value) {
  if (text.size() < 2 || !text.starts_with('"') || !text.ends_with('"')) return false;
  value = text.substr(1, text.size() - 2);
  return true;
}
bool parse(std::string_view text, std::optional<RopeScaling>& value) {
  std::string plain;
  if (!parse(text, plain)) return false;
  value = read_rope_scaling(plain);
  return value || plain == kPlainRope;
}

}  // namespace

std::vector<std::string> model_keys() {
  std::vector<std::string> keys(std::begin(kModelDimensions), std::end(kModelDimensions));
  keys.insert(keys.end(), std::begin(kModelSwitches), std::end(kModelSwitches));
  return keys;
}

ckpt::Settings model_rows(const ModelDims& dims) {
  ckpt::Settings rows;
  for (const auto& [key, member] : kModelSizes) rows.emplace_back(key, std::to_string(dims.*member));
  rows.emplace_back("model.norm_eps", ckpt::toml_float(dims.norm_eps));
  rows.emplace_back("model.rope_theta", ckpt::toml_float(dims.rope_theta));
  rows.emplace_back("model.tied_embeddings", dims.tied ? "true" : "false");
  if (dims.qkv_bias) rows.emplace_back("model.qkv_bias", "true");
  if (dims.qk_norm) rows.emplace_back("model.qk_norm", "true");
  if (dims.whole_qk_norm) rows.emplace_back("model.whole_qk_norm", "true");
  if (dims.post_norm) rows.emplace_back("model.post_norm", "true");
  if (dims.experts) {
    rows.emplace_back("model.n_experts", std::to_string(dims.n_experts));
    rows.emplace_back("model.experts_per_token", std::to_string(dims.experts_per_token));
  }
  if (dims.route_norm) rows.emplace_back("model.route_norm", "true");
  if (dims.window.tokens != 0) rows.emplace_back("model.sliding_window", std::to_string(dims.window.tokens));
  if (!dims.window.layers.empty())
    rows.emplace_back("model.sliding_window_layers", ckpt::toml_string(layers_text(dims.window)));
  if (dims.rope_scaling)
    rows.emplace_back("model.rope_scaling", ckpt::toml_string(rope_scaling_text(*dims.rope_scaling)));
  std::ranges::sort(rows);
  return rows;
}

Result<ModelDims> dims_from_rows(const std::string& what, const ckpt::Settings& rows) {
  ModelDims dims;
  std::string missing, wrong;
  const auto take = [&](const std::string& key, auto& value, bool required) {
    const std::string text = ckpt::setting(rows, key);
    if (text != ckpt::kNotSet && !parse(text, value) && wrong.empty()) wrong = key + " is " + text;
    if (text == ckpt::kNotSet && required) missing += (missing.empty() ? "" : ", ") + key;
  };
  for (const auto& [key, member] : kModelSizes) take(key, dims.*member, member != &ModelDims::head_dim);
  // Derives head_dim as titan-train does. If dim or n_heads is missing, the error asks for those instead.
  if (dims.dim > 0 && dims.n_heads > 0 && ckpt::setting(rows, "model.head_dim") == ckpt::kNotSet) {
    if (dims.dim % dims.n_heads == 0)
      dims.head_dim = dims.dim / dims.n_heads;
    else
      take("model.head_dim", dims.head_dim, true);
  }
  take("model.norm_eps", dims.norm_eps, true);
  take("model.rope_theta", dims.rope_theta, true);
  take("model.tied_embeddings", dims.tied, false);
  take("model.qkv_bias", dims.qkv_bias, false);
  take("model.qk_norm", dims.qk_norm, false);
  take("model.whole_qk_norm", dims.whole_qk_norm, false);
  take("model.post_norm", dims.post_norm, false);
  take("model.n_experts", dims.n_experts, false);
  take("model.experts_per_token", dims.experts_per_token, false);
  take("model.route_norm", dims.route_norm, false);
  dims.experts = dims.n_experts != 0;
  take("model.sliding_window", dims.window.tokens, false);
  std::string layers = kAllLayers;
  take("model.sliding_window_layers", layers, false);
  take("model.rope_scaling", dims.rope_scaling, false);
  if (!missing.empty())
    return ckpt::incompatible(what + " does not say what its model is: " + missing + " missing")
        .with_hint("a configuration file can say it: --config FILE.toml with these keys under [model]");
  if (!wrong.empty()) return ckpt::incompatible(what + ": " + wrong + ", which has another type than expected");
  if (const Status checked = check_dims(dims); !checked.ok()) return ckpt::incompatible(what + ": " + checked.message);
  const Result<SlidingWindow> window = sliding_window(dims.window.tokens, layers, dims.n_layers);
  if (!window.ok()) return ckpt::incompatible(what + ": " + window.status().message);
  dims.window = *window;
  return dims;
}

Result<ModelDims> stored_dims(const ckpt::Settings& rows, const std::string& path) {
  std::vector<std::string> missing;
  for (const char* key : kModelDimensions)
    if (!ckpt::has_setting(rows, key)) missing.emplace_back(key);
  if (missing.empty()) return dims_from_rows(path, rows);
  return ckpt::incompatible(path + " does not say what model it holds: its configuration has no " +
                            ckpt::joined(missing))
      .with_hint(
          "convert the original with a configuration that says it: titan-ckpt convert ORIGINAL NEW --to titan "
          "--config FILE.toml, with these keys under [model] or a model.flavor");
}

bool reads_bytes(const ckpt::Settings& rows) {
  return ckpt::setting(rows, "training.dataset") == "\"text\"" && ckpt::setting(rows, "model.tokenizer") == "\"byte\"";
}

}  // namespace titan::recipe
