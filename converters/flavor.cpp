#include "converters/flavor.h"

#include <algorithm>
#include <charconv>
#include <string>

#include "ckpt/plan/lr_settings.h"
#include "converters/model_config.h"

namespace titan::convert {
namespace {

// \source torchtitan v0.2.2 models/llama3/__init__.py
constexpr Flavor kFlavors[] = {
    {"debugmodel", 256, 6, 16, 16, 2048, 256, 1.0},
    {"8B", 4096, 32, 32, 8, 128256, 1024, 1.3},
    {"70B", 8192, 80, 64, 8, 128256, 4096, 1.3},
    {"405B", 16384, 126, 128, 8, 128256, 4096, 1.2},
};

std::string unquoted(const std::string& text) { return text.size() < 2 ? text : text.substr(1, text.size() - 2); }

std::uint64_t ffn_width(std::uint64_t dim, const Flavor& flavor) {
  const auto width = static_cast<std::uint64_t>(static_cast<double>(8 * dim / 3) * flavor.multiplier);
  return (width + flavor.multiple_of - 1) / flavor.multiple_of * flavor.multiple_of;
}

bool says(const ckpt::Settings& rows, const std::string& key) { return ckpt::setting(rows, key) != ckpt::kNotSet; }

ckpt::Settings without(ckpt::Settings rows, const ckpt::Settings& given) {
  std::erase_if(rows, [&](const auto& row) { return says(given, row.first); });
  return rows;
}

}  // namespace

bool Flavor::fits(const ModelConfig& model) const { return dim == model.dim && n_layers == model.n_layers; }

const Flavor* find_flavor(const std::string& name) {
  const auto* const flavor = std::ranges::find(kFlavors, name, [](const Flavor& f) { return std::string(f.name); });
  return flavor == std::end(kFlavors) ? nullptr : flavor;
}

ckpt::Settings flavor_rows(const ckpt::Settings& given) {
  const Flavor* flavor = find_flavor(unquoted(ckpt::setting(given, "model.flavor")));
  if (flavor == nullptr) return {};
  // A flavour's other dimensions follow from those that are given, where they do in titan-train. What is no number is refused elsewhere.
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
  model.ffn_dim = ffn_width(model.dim, *flavor);
  model.vocab_size = flavor->vocab_size;
  return without(ckpt::with_rows(model_settings(model), {{"model.qkv_bias", "false"}}), given);
}

ckpt::Settings torchtitan_rows(const ckpt::Settings& given, const ModelConfig& model) {
  const Flavor* flavor = find_flavor(unquoted(ckpt::setting(given, "model.flavor")));
  if (flavor == nullptr) return {};
  const bool explicit_rows = says(given, "model.n_heads") && says(given, "model.rope_theta") && says(given, "model.rope_scaling");
  if (!flavor->fits(model) && !explicit_rows) return flavor_rows(given);
  ModelConfig implied;  // eps and RoPE of a flavour are its defaults
  implied.n_heads = flavor->n_heads;
  implied.rope_scaling.emplace();
  ckpt::Settings rows = model_settings(implied);
  std::erase_if(rows, [](const auto& row) { return row.first != "model.n_heads" && row.first != "model.norm_eps" && !row.first.starts_with("model.rope_"); });
  return without(std::move(rows), given);
}

}  // namespace titan::convert
