#include "converters/dcp/torchtitan.h"

#include <algorithm>
#include <charconv>

#include "ckpt/base/toml_text.h"
#include "ckpt/plan/lr_settings.h"
#include "converters/flavor.h"

namespace titan::convert::dcp {

using ckpt::Result;
using ckpt::Settings;
using ckpt::Status;

namespace {

/// Flavours that mask attention between documents, which ours does not.
constexpr const char* kMasked[] = {
    "debugmodel_flex_attn", "debugmodel_varlen_attn", "8B_flex", "8B_varlen", "70B_flex", "70B_varlen", "405B_flex",
    "405B_varlen"};

const std::string* find(const Settings& rows, std::string_view key) {
  const auto at = std::ranges::find(rows, key, &Settings::value_type::first);
  return at == rows.end() ? nullptr : &at->second;
}

/// Compared when a run goes on, besides the model and the LR schedule.
constexpr const char* kCompared[] = {"optimizer.beta1",
                                     "optimizer.beta2",
                                     "optimizer.eps",
                                     "optimizer.name",
                                     "optimizer.weight_decay",
                                     "training.dtype",
                                     "training.global_batch_size",
                                     "training.local_batch_size",
                                     "training.max_norm",
                                     "training.mixed_precision_param",
                                     "training.mixed_precision_reduce",
                                     "training.seq_len"};

}  // namespace

const std::vector<std::string>& torchtitan_keys() {
  static const std::vector<std::string> keys = [] {
    std::vector<std::string> list = recipe::lr_keys();
    list.insert(list.end(), std::begin(kCompared), std::end(kCompared));
    list.insert(list.end(), {"debug.seed", "model.flavor", "parallelism.data_parallel_replicate_degree",
                             "parallelism.data_parallel_shard_degree"});
    return list;
  }();
  return keys;
}

Result<recipe::Config> read_torchtitan(const Settings& rows) { return recipe::config_of_rows(rows, torchtitan_keys()); }

std::string flavor_name(const recipe::Config& config) { return config.model.flavor.value_or("debugmodel"); }

std::uint64_t data_ranks(const recipe::Config& config) {
  const recipe::Config::Parallelism& mesh = config.parallelism;
  return static_cast<std::uint64_t>(mesh.data_parallel_replicate_degree *
                                    std::max<std::int64_t>(mesh.data_parallel_shard_degree, 0));
}

double next_lr(const ckpt::LrSettings& settings, std::uint64_t step) {
  const std::uint64_t total = settings.total_steps, rest = total - std::min(settings.warmup_steps, total);
  // Without a decay torchtitan's virtual step after the last one is at the peak, where our curve has ended. Nobody
  // applies it.
  if (step == total && ckpt::decay_length(settings.decay_ratio, total, rest, rest) == 0) return settings.peak;
  return ckpt::lr_at(ckpt::schedule_from(settings).phases, step + 1);
}

Settings curve_rows(const recipe::Config& config, std::uint64_t world) {
  recipe::Config said = config;
  if (said.training.global_batch_size <= 0)
    said.training.global_batch_size = said.training.local_batch_size * static_cast<std::int64_t>(world);
  Settings rows = ckpt::lr_rows(recipe::lr_settings(said));
  for (const char* key : kCompared)
    rows.emplace_back(key, recipe::to_toml(*recipe::get_value(*recipe::find_key(key), said)));
  std::ranges::sort(rows);
  return rows;
}

template <typename T>
Status take_number(const Settings& rows, const char* key, T& value) {
  const std::string text = ckpt::setting(rows, key);
  if (text == ckpt::kNotSet) return ckpt::ok_status();
  std::string digits = text;
  std::erase_if(digits, [](char c) { return c == '_' || c == '+'; });
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error == std::errc() && end == digits.data() + digits.size()) return ckpt::ok_status();
  return ckpt::invalid(std::string(key) + " is " + text + ", expected a number");
}

Result<ModelConfig> model_of(const std::string& what, const std::map<std::string, std::vector<std::uint64_t>>& shapes,
                             const Settings& rows) {
  const auto extent = [&](const std::string& name, std::size_t dim) -> std::uint64_t {
    const auto at = shapes.find(name);
    return at == shapes.end() || at->second.size() <= dim ? 0 : at->second[dim];
  };
  ModelConfig model;
  model.vocab_size = extent("tok_embeddings.weight", 0);
  model.dim = extent("tok_embeddings.weight", 1);
  model.ffn_dim = extent("layers.0.feed_forward.w1.weight", 0);
  while (shapes.contains("layers." + std::to_string(model.n_layers) + ".attention_norm.weight")) ++model.n_layers;
  model.qkv_bias = shapes.contains("layers.0.attention.wq.bias");
  const std::uint64_t q = extent("layers.0.attention.wq.weight", 0), kv = extent("layers.0.attention.wk.weight", 0);
  if (model.vocab_size == 0 || model.dim == 0 || model.ffn_dim == 0 || model.n_layers == 0 || q == 0 || kv == 0) {
    return ckpt::incompatible(what +
                              " holds no llama3 model: tok_embeddings.weight or the weights of layer 0 are missing");
  }
  TITAN_ASSIGN_OR_RETURN(const recipe::Config config, read_torchtitan(rows));
  const recipe::Flavor* flavor = recipe::find_flavor(flavor_name(config));
  if (flavor != nullptr && fits(*flavor, model)) model.n_heads = flavor->n_heads;
  const bool known = model.n_heads != 0;
  TITAN_RETURN_IF_ERROR(take_number(rows, "model.n_heads", model.n_heads));
  if (model.n_heads == 0) {
    const bool masked = std::ranges::any_of(kMasked, [&](const char* name) { return flavor_name(config) == name; });
    return ckpt::incompatible("the configuration does not say how many heads the model of " + what + " has: flavour `" +
                              flavor_name(config) + "` " +
                              (masked ? "masks attention between documents, which Titan's model does not do"
                                      : "is not known, or is of another size"))
        .with_hint(
            masked
                ? "--set model.n_heads=N --set model.rope_theta=X --set model.rope_scaling=S goes on without the mask"
                : "say it: --set model.n_heads=N --set model.rope_theta=X --set model.rope_scaling=S");
  }
  // torchtitan's own flavours have 500000 and scale RoPE; a flavour of the user's may not, and the tensors do not tell.
  const bool scaling_given = std::ranges::any_of(
      rows, [](const auto& row) { return row.first.starts_with("model.rope_scaling") && row.second != ckpt::kNotSet; });
  if (!known) {
    const bool theta_given = ckpt::setting(rows, "model.rope_theta") != ckpt::kNotSet;
    const std::string missing = std::string(theta_given ? "" : "model.rope_theta") +
                                (theta_given || scaling_given ? "" : " and ") +
                                (scaling_given ? "" : "model.rope_scaling");
    if (!missing.empty()) {
      return ckpt::incompatible("the configuration does not say " + missing + " of " + what + ": flavour `" +
                                flavor_name(config) + "` is not known, or is of another size")
          .with_hint(std::string("say it:") +
                     (theta_given ? ""
                                  : " --set model.rope_theta=X (torchtitan's flavours have 500000, "
                                    "TransformerModelArgs alone has 10000)") +
                     (scaling_given ? ""
                                    : " --set model.rope_scaling=llama3:8:1:4:8192 (TransformerModelArgs' default), or "
                                      "none where its scaling_factor is 1"));
    }
  }
  if (q % model.n_heads != 0 || kv % (q / model.n_heads) != 0) {
    return ckpt::incompatible(what + ": " + std::to_string(q) + " query rows and " + std::to_string(kv) +
                              " key rows do not make whole heads when model.n_heads is " +
                              std::to_string(model.n_heads));
  }
  model.head_dim = q / model.n_heads;
  model.n_kv_heads = kv / model.head_dim;
  model.norm_eps = 1e-5;
  model.rope_theta = 500000;
  model.rope_scaling = RopeScaling{};
  TITAN_RETURN_IF_ERROR(take_number(rows, "model.norm_eps", model.norm_eps));
  TITAN_RETURN_IF_ERROR(take_number(rows, "model.rope_theta", model.rope_theta));

  // Rows that the file has beyond these must agree with the tensors; RoPE's scaling is the file's where it says one.
  Settings merged = model_settings(model);
  if (scaling_given) std::erase_if(merged, [](const auto& row) { return row.first.starts_with("model.rope_scaling"); });
  for (const auto& [key, text] : rows) {
    const bool ours = find(merged, key) != nullptr;
    if (key == "model.rope_scaling" && (text == ckpt::kNotSet || text == "\"none\"")) continue;
    if (ours || key == "model.rope_scaling") merged = ckpt::with_rows(std::move(merged), {{key, text}});
  }
  TITAN_ASSIGN_OR_RETURN(const ModelConfig said, model_from_settings("the configuration", merged));
  ModelConfig same = said;
  same.norm_eps = model.norm_eps;
  same.rope_theta = model.rope_theta;
  same.rope_scaling = model.rope_scaling;
  if (same == model) return said;
  std::string differing;
  const Settings theirs = model_settings(said);
  for (const auto& [key, text] : model_settings(model)) {
    const std::string* other = find(theirs, key);
    if (other != nullptr && *other != text && !key.starts_with("model.rope") && key != "model.norm_eps")
      differing += (differing.empty() ? "" : ", ") + key + " is " + *other + " in the configuration and " + text +
                   " in the tensors";
  }
  return ckpt::incompatible(what + ": " + differing);
}

}  // namespace titan::convert::dcp
