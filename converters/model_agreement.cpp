#include "converters/model_agreement.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <vector>

#include "ckpt/base/printed.h"
#include "ckpt/plan/lr_settings.h"
#include "converters/report.h"
#include "recipe/model/manifest_dims.h"
#include "recipe/model/parameters.h"

namespace titan::convert {

using ckpt::Result;
using ckpt::Settings;
using ckpt::Status;

namespace {

constexpr const char* kTied = "model.tied_embeddings";

bool says(const Settings& rows, const std::string& key) { return ckpt::setting(rows, key) != ckpt::kNotSet; }

const recipe::Flavor* flavor_of(const Settings& given) {
  const std::string text = ckpt::setting(given, "model.flavor");
  const std::string family = ckpt::setting(given, "model.name");
  const auto plain = [](const std::string& quoted) {
    return quoted.size() < 2 ? quoted : quoted.substr(1, quoted.size() - 2);
  };
  return recipe::find_flavor(plain(text), family == ckpt::kNotSet ? recipe::kLlama3 : plain(family));
}

Settings without(Settings rows, const Settings& given) {
  std::erase_if(rows, [&](const auto& row) { return says(given, row.first); });
  return rows;
}

/// The settings that an import of `model` from torchtitan takes from `given`'s flavour: heads, eps, RoPE and its
/// scaling. Dimensions come from the tensors. A flavour of another size is taken completely, unless `given` itself sets
/// heads and RoPE.
Settings torchtitan_rows(const Settings& given, const ModelDims& model) {
  const recipe::Flavor* flavor = flavor_of(given);
  if (flavor == nullptr) return {};
  const bool explicit_rows =
      says(given, "model.n_heads") && says(given, "model.rope_theta") && says(given, "model.rope_scaling");
  if (!fits(*flavor, model) && !explicit_rows) return flavor_rows(given);
  ModelDims implied = recipe::flavor_dims(*flavor);
  if (!flavor->is_qwen3()) implied.rope_scaling.emplace();
  Settings rows = recipe::model_rows(implied);
  std::erase_if(rows, [](const auto& row) {
    return row.first != "model.n_heads" && row.first != "model.norm_eps" && !row.first.starts_with("model.rope_");
  });
  return without(std::move(rows), given);
}

}  // namespace

Status check_parameters(const ckpt::CheckpointReader& source, const ModelDims& model, SkipRules& skip) {
  const ckpt::Manifest& manifest = source.manifest();
  const ckpt::ParameterIndex by_name(manifest);
  std::vector<std::string> left_out;
  for (const ckpt::ParameterMeta& expected : recipe::model_parameters(model)) {
    const auto index = by_name.find(expected.name);
    if (skip.takes(expected.name)) left_out.push_back(expected.name);
    if (!index)
      return ckpt::incompatible(source.path() + " has no tensor '" + expected.name +
                                "', which its configuration asks for");
    if (manifest.parameters[*index].meta.shape != expected.shape)
      return ckpt::incompatible("tensor '" + expected.name + "' of " + source.path() +
                                " has another shape than its configuration says")
          .with_hint("are model.n_heads, model.n_kv_heads, model.head_dim and the other dimensions the model's?");
  }
  return left_out.empty() ? ckpt::ok_status() : part_of_model(source.path(), left_out);
}

Status part_of_model(const std::string& path, const std::vector<std::string>& left_out) {
  return ckpt::incompatible(path + ": --skip leaves out " + ckpt::counted(left_out.size(), "parameter") +
                            " of the model, " + listed(left_out) + ": what remains is no model")
      .with_hint("leave out only what is no parameter of the model, as the optimizer's state: --skip 'optimizer.*'");
}

bool fits(const recipe::Flavor& flavor, const ModelDims& model) {
  return flavor.dim == model.dim && flavor.n_layers == model.n_layers;
}

Settings flavor_rows(const Settings& given) {
  const recipe::Flavor* flavor = flavor_of(given);
  if (flavor == nullptr) return {};
  // nullopt for text that is not a number; dims_from_rows() refuses it with a message.
  const auto number = [&](const char* key) -> std::optional<std::int64_t> {
    const std::string text = ckpt::setting(given, key);
    std::uint64_t value = 0;
    if (std::from_chars(text.data(), text.data() + text.size(), value).ec != std::errc()) return std::nullopt;
    return static_cast<std::int64_t>(std::clamp(value, std::uint64_t{1}, std::uint64_t{1} << 31));
  };
  Settings rows = recipe::model_rows(recipe::flavor_dims(*flavor, number("model.dim"), number("model.n_heads")));
  return without(ckpt::with_rows(std::move(rows), {{"model.qkv_bias", "false"},
                                                   {"model.qk_norm", flavor->is_qwen3() ? "true" : "false"}}),
                 given);
}

Result<Settings> agreed_rows(const std::string& what, const Settings& own, const Settings& given,
                             const Comparison& how) {
  std::vector<std::string> keys = recipe::model_keys();
  std::ranges::sort(keys);
  const auto compared = [&](const std::string& key) { return !how.untie || key != kTied; };
  Settings said;
  for (const std::string& key : keys)
    if (says(given, key) && compared(key)) said.emplace_back(key, ckpt::setting(given, key));
  const Result<ModelDims> model = recipe::dims_from_rows(what, own);
  if (!model.ok()) return ckpt::with_rows(own, said);
  const Settings implied = how.torchtitan ? torchtitan_rows(given, *model) : flavor_rows(given);
  TITAN_ASSIGN_OR_RETURN(
      const ModelDims other,
      recipe::dims_from_rows("the configuration", ckpt::with_rows(ckpt::with_rows(own, implied), said)));
  const Settings here = recipe::model_rows(*model), there = recipe::model_rows(other);
  std::string differing;
  bool by_flavor = false;
  for (const std::string& key : keys) {
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

}  // namespace titan::convert
