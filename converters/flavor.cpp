#include "converters/flavor.h"

#include <algorithm>
#include <charconv>
#include <string>

#include "ckpt/base/toml_text.h"
#include "ckpt/plan/lr_settings.h"
#include "converters/model_config.h"

namespace titan::convert {
namespace {

std::string unquoted(const std::string& text) { return text.size() < 2 ? text : text.substr(1, text.size() - 2); }

bool says(const ckpt::Settings& rows, const std::string& key) { return ckpt::setting(rows, key) != ckpt::kNotSet; }

ckpt::Settings without(ckpt::Settings rows, const ckpt::Settings& given) {
  std::erase_if(rows, [&](const auto& row) { return says(given, row.first); });
  return rows;
}

}  // namespace

bool fits(const recipe::Flavor& flavor, const ModelConfig& model) {
  return flavor.dim == model.dim && flavor.n_layers == model.n_layers;
}

ckpt::Settings flavor_rows(const ckpt::Settings& given) {
  const recipe::Flavor* flavor = recipe::find_flavor(unquoted(ckpt::setting(given, "model.flavor")));
  if (flavor == nullptr) return {};
  // A flavour's other dimensions follow from those that are given, where they do in titan-train. What is no number is
  // refused elsewhere.
  const auto number = [&](const char* key, std::uint64_t value) {
    const std::string text = ckpt::setting(given, key);
    std::from_chars(text.data(), text.data() + text.size(), value);
    return std::min(value, std::uint64_t{1} << 31);
  };
  ModelConfig model;
  model.dim = number("model.dim", flavor->dim);
  model.n_layers = flavor->n_layers;
  model.n_heads = std::max<std::uint64_t>(number("model.n_heads", flavor->n_heads), 1);
  model.n_kv_heads = says(given, "model.n_heads") ? model.n_heads : flavor->n_kv_heads;
  model.head_dim = model.dim / model.n_heads;
  model.ffn_dim = recipe::ffn_width(model.dim, flavor->multiple_of, flavor->multiplier);
  model.vocab_size = flavor->vocab_size;
  return without(ckpt::with_rows(model_settings(model), {{"model.qkv_bias", "false"}}), given);
}

ckpt::Settings torchtitan_rows(const ckpt::Settings& given, const ModelConfig& model) {
  const recipe::Flavor* flavor = recipe::find_flavor(unquoted(ckpt::setting(given, "model.flavor")));
  if (flavor == nullptr) return {};
  const bool explicit_rows =
      says(given, "model.n_heads") && says(given, "model.rope_theta") && says(given, "model.rope_scaling");
  if (!fits(*flavor, model) && !explicit_rows) return flavor_rows(given);
  ModelConfig implied;  // eps and RoPE of a flavour are its defaults
  implied.n_heads = flavor->n_heads;
  ckpt::Settings rows =
      ckpt::with_rows(model_settings(implied), {{"model.rope_scaling", ckpt::toml_string(recipe::kFlavorRopeScaling)}});
  std::erase_if(rows, [](const auto& row) {
    return row.first != "model.n_heads" && row.first != "model.norm_eps" && !row.first.starts_with("model.rope_");
  });
  return without(std::move(rows), given);
}

}  // namespace titan::convert
