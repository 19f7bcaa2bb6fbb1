#include "converters/dcp/model.h"

#include <algorithm>

#include "ckpt/base/text.h"
#include "ckpt/plan/lr_settings.h"
#include "converters/dcp/torchtitan.h"
#include "converters/model_agreement.h"
#include "recipe/keys/config.h"
#include "recipe/model/manifest_dims.h"

namespace titan::convert::dcp {

using ckpt::Result;
using ckpt::Settings;
using ckpt::Status;

namespace {

constexpr const char *kHeads = "model.n_heads", *kTheta = "model.rope_theta", *kScaling = "model.rope_scaling";

/// torchtitan's flavours that mask attention between documents. Titan's model does not, which an error message says.
constexpr const char* kMasked[] = {
    "debugmodel_flex_attn", "debugmodel_varlen_attn", "8B_flex", "8B_varlen", "70B_flex", "70B_varlen", "405B_flex",
    "405B_varlen"};

// The error that names all missing settings at once, with flags to paste. torchtitan's own flavours have theta 500000
// and scale RoPE; a user's flavour may differ, and the tensors do not show it. `further`: missing settings other than
// the model's.
Status missing_settings(const std::string& what, const std::optional<std::string>& given, bool qwen3,
                        std::vector<std::string> keys, const std::vector<std::string>& further) {
  const std::string flavor = given.value_or("");
  const bool masked = std::ranges::any_of(kMasked, [&](const char* name) { return flavor == name; });
  const bool rope = std::ranges::any_of(keys, [](const std::string& key) { return key.starts_with("model.rope"); });
  keys.insert(keys.end(), further.begin(), further.end());
  std::string line;
  for (const std::string& key : keys)
    line += " --set " + key + "=" +
            (key == kTheta     ? (qwen3 ? "1000000" : "500000")
             : key == kScaling ? (given ? "llama3:8:1:4:8192" : "none")
             : key == kHeads   ? "N"
                               : "R");
  std::string names = keys.front();
  for (std::size_t i = 1; i < keys.size(); ++i) names += (i + 1 < keys.size() ? ", " : " and ") + keys[i];
  return ckpt::incompatible(
             "the configuration does not say " + names + " of " + what + ": " +
             (given ? "flavour `" + flavor + "` " : "it names no flavour, and torchtitan's debugmodel ") +
             (masked  ? "masks attention between documents, which Titan's model does not do"
              : given ? "is not known, or is of another size"
                      : "is of another size"))
      .with_hint(
          std::string(masked ? "this continues without the mask:" : "add:") + line +
          (rope && !qwen3
               ? "\n    TransformerModelArgs alone has theta 10000, and scaling none where its scaling_factor is 1"
               : "") +
          (further.empty() ? "" : "\n    R is the number of data ranks that the run had"));
}

/// Fails if `said` (the configuration) has other dimensions than `shown` (the tensors).
Status check_same(const std::string& what, const ModelDims& said, const ModelDims& shown) {
  ModelDims same = said;
  same.norm_eps = shown.norm_eps;
  same.rope_theta = shown.rope_theta;
  same.rope_scaling = shown.rope_scaling;
  if (same == shown) return ckpt::ok_status();
  std::vector<std::string> differing;
  const Settings theirs = recipe::model_rows(same);
  for (const auto& [key, text] : recipe::model_rows(shown)) {
    const std::string other = ckpt::setting(theirs, key);
    if (other != ckpt::kNotSet && other != text)
      differing.push_back(key + " is " + other + " in the configuration and " + text + " in the tensors");
  }
  return ckpt::incompatible(what + ": " + ckpt::joined(differing));
}

}  // namespace

Result<ModelDims> model_of(const std::string& what, const recipe::Shapes& shapes, const Settings& rows,
                           const std::vector<std::string>& further) {
  const auto [shown, q, kv] = recipe::dims_from_shapes(shapes);
  if (shown.vocab_size == 0 || shown.dim == 0 || shown.ffn_dim == 0 || shown.n_layers == 0 || q == 0 || kv == 0) {
    return ckpt::incompatible(what +
                              " holds no model of torchtitan: the embedding or the weights of layer 0 are missing");
  }
  ModelDims model = shown;
  const bool qwen3 = shown.qk_norm;
  TITAN_ASSIGN_OR_RETURN(const recipe::Config config, read_torchtitan(rows));
  TITAN_ASSIGN_OR_RETURN(
      const recipe::Config given,
      recipe::config_of_rows(rows, {"model.n_heads", "model.norm_eps", "model.rope_theta", "model.tied_embeddings"}));
  const std::string name = flavor_name(config);
  const recipe::Flavor* flavor = recipe::find_flavor(name, recipe::family_of(shown));
  const bool known = flavor != nullptr && fits(*flavor, model);
  model.n_heads = given.model.n_heads.value_or(qwen3 ? q / shown.head_dim : known ? flavor->n_heads : 0);
  // torchtitan's llama3 never ties head and embedding; its qwen3 stores a tied tensor under both names.
  model.tied = qwen3 && given.model.tied_embeddings.value_or(known ? flavor->tied : shown.tied);
  const bool scaling_given = std::ranges::any_of(
      rows, [](const auto& row) { return row.first.starts_with("model.rope_scaling") && row.second != ckpt::kNotSet; });
  std::vector<std::string> unsaid;
  if (model.n_heads == 0) unsaid.emplace_back(kHeads);
  if (!known && !given.model.rope_theta) unsaid.emplace_back(kTheta);
  if (!known && !scaling_given && !qwen3) unsaid.emplace_back(kScaling);
  if (!unsaid.empty()) return missing_settings(what, config.model.flavor, qwen3, std::move(unsaid), further);
  if (q % model.n_heads != 0 || kv % (q / model.n_heads) != 0) {
    return ckpt::incompatible(what + ": " + std::to_string(q) + " query rows and " + std::to_string(kv) +
                              " key rows do not make whole heads when model.n_heads is " +
                              std::to_string(model.n_heads));
  }
  model.head_dim = q / model.n_heads;
  model.n_kv_heads = kv / model.head_dim;
  const ModelDims usual = recipe::flavor_dims(*recipe::find_flavor("debugmodel", recipe::family_of(shown)));
  if (!qwen3) model.rope_scaling.emplace();
  model.norm_eps = given.model.norm_eps.value_or(usual.norm_eps);
  model.rope_theta = given.model.rope_theta.value_or(usual.rope_theta);

  // The configuration's other model rows must agree with the tensors. RoPE scaling is the configuration's, if it sets
  // one.
  Settings merged = recipe::model_rows(model);
  if (scaling_given) std::erase_if(merged, [](const auto& row) { return row.first.starts_with("model.rope_scaling"); });
  for (const auto& [key, text] : rows) {
    const bool ours = ckpt::has_setting(merged, key);
    if (key == "model.rope_scaling" && (text == ckpt::kNotSet || text == "\"none\"")) continue;
    if (ours || key == "model.rope_scaling") merged = ckpt::with_rows(std::move(merged), {{key, text}});
  }
  TITAN_ASSIGN_OR_RETURN(const ModelDims said, recipe::dims_from_rows("the configuration", merged));
  TITAN_RETURN_IF_ERROR(check_same(what, said, model));
  return said;
}

}  // namespace titan::convert::dcp
