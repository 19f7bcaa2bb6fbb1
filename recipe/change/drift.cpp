#include "recipe/change/drift.h"

#include <algorithm>
#include <map>
#include <set>

#include "ckpt/base/hash.h"
#include "ckpt/base/text.h"
#include "ckpt/plan/lr_settings.h"
#include "ckpt/plan/mixture.h"
#include "ckpt/plan/same_files.h"
#include "recipe/keys/config.h"
#include "recipe/keys/key_table.h"
#include "recipe/model/flavor.h"
#include "recipe/model/manifest_dims.h"
#include "recipe/plan/parameter_rules.h"
#include "recipe/plan/plan_values.h"

namespace titan::recipe {
namespace {

using ckpt::kNotSet;

std::string integer(std::int64_t value) { return std::to_string(value); }

std::string fingerprint(const std::vector<ckpt::DataFile>& files) {
  ckpt::IdentityEncoder encoder;
  std::uint64_t bytes = 0;
  encoder.list(files.size());
  for (const ckpt::DataFile& file : files) {
    encoder.str(file.name);
    encoder.u64(file.bytes);
    encoder.digest(file.blocks);
    bytes += file.bytes;
  }
  const std::string what = files.size() == 1 ? files[0].name : std::to_string(files.size()) + " files";
  return toml_string(what + ", " + std::to_string(bytes) + " bytes, " + encoder.finish().hex().substr(0, 16));
}

/// The value that defines a mixture: it does not depend on the sets' paths and on how many samples were drawn.
std::string mixture_row(const ckpt::DataPosition& data) {
  if (data.sets.empty()) return kNotSet;
  ckpt::IdentityEncoder encoder;
  std::vector<std::string> ends;
  encoder.list(data.sets.size());
  for (std::size_t i = 0; i < data.sets.size(); ++i) {
    const ckpt::MixedSet& set = data.sets[i];
    encoder.u64(set.share);
    const std::uint64_t most = set.most == 0 ? 0 : set.most - set.uncounted;
    encoder.u64(most);
    encoder.boolean(set.stops);
    encoder.digest(ckpt::contents_of(ckpt::files_of_set(data, i)));
    if (most != 0)
      ends.push_back(set.name + (set.stops ? " ends the data" : " is dropped") + " after " +
                     std::to_string(most / set.samples) + (most == set.samples ? " epoch" : " epochs"));
  }
  return toml_string(ckpt::mixture_as_stored(data.sets) + (ends.empty() ? "" : "; " + ckpt::first_few(ends, 8)) + "; " +
                     encoder.finish().hex().substr(0, 16));
}

/// Derived values by key; they replace the values of the config.
std::map<std::string, std::string> derived_values(const Config& config, const RunPlan& plan, std::uint64_t seed,
                                                  const ckpt::DataPosition& data) {
  const bool held_back = config.validation.enable && !config.validation.dataset_path;
  const bool tokens = config.training.dataset == "tokens", bytes = data.tokenizer == "byte";
  std::map<std::string, std::string> values = {
      // Checkpoints that are older than these keys have no row for them.
      {"model.name", toml_string(family_of(plan.dims))},
      {"model.qkv_bias", kNotSet},
      {"model.qk_norm", kNotSet},
      {"model.rope_scaling", kNotSet},
      {"training.ema", config.training.ema == 0 ? kNotSet : toml_float(config.training.ema)},
      {"training.norm_type", config.training.norm_type == 2 ? kNotSet : toml_float(config.training.norm_type)},
      {"training.exclude_samples", data.excluded.empty() ? kNotSet : toml_string(ckpt::ranges_text(data.excluded))},
      {"optimizer.rules", rules_row(config.optimizer.rules)},
      {"training.loss_chunk", plan.loss_chunk == 0 ? kNotSet : integer(plan.loss_chunk)},
      {"model.tokenizer", toml_string(data.tokenizer)},
      {"training.dataset_path", data.sets.empty() ? fingerprint(data.files) : kNotSet},
      {"training.datasets", mixture_row(data)},
      {"training.token_dtype", tokens ? toml_string(config.training.token_dtype) : kNotSet},
      {"training.text_field", tokens || bytes ? kNotSet : toml_string(config.training.text_field)},
      {"training.sample_stride", std::to_string(data.sample_stride)},
      {"training.local_batch_size", integer(plan.batch.micro)},
      {"training.global_batch_size", integer(plan.batch.global)},
      {"training.seq_len", integer(plan.batch.seq_len)},
      {"validation.holdout", held_back ? toml_float(config.validation.holdout) : toml_float(0)},
      {"debug.seed", std::to_string(seed)},
  };
  if (plan.dims.experts) values["training.router_aux_loss"] = toml_float(plan.router_aux_loss);
  for (const ckpt::Settings& rows : {model_rows(plan.dims), ckpt::lr_rows(plan.lr)})
    for (const auto& [key, value] : rows) values[key] = value;
  return values;
}

/// Whether a checkpoint without a row `key` counts as having `value`: the checkpoint is older than the key and used its
/// default, or its trainer has no such setting.
bool stands_for(const std::string& key, const std::string& value) {
  if (key == "model.name") return true;  // follows from the model's other rows
  const Key* found = find_key(key);
  if (found == nullptr || found->value_in == nullptr) return value == kNotSet;
  const std::optional<Value> standard = get_value(*found, Config{});
  return found->own_concept || value == (standard ? to_toml(*standard) : kNotSet);
}

}  // namespace

ckpt::Settings accepted_settings(const Config& config, const RunPlan& plan, std::uint64_t seed,
                                 const ckpt::DataPosition& data) {
  const std::map<std::string, std::string> derived = derived_values(config, plan, seed, data);
  ckpt::Settings settings;
  for (const Key& key : key_table()) {
    if (!key.value_in || key.cls != KeyClass::kCurve || !key.acts_through.empty()) continue;
    const std::optional<Value> value = get_value(key, config);
    const auto found = derived.find(key.name);
    if (key.row_if_set && found == derived.end()) continue;
    settings.emplace_back(key.name, found != derived.end() ? found->second : value ? to_toml(*value) : kNotSet);
  }
  std::ranges::sort(settings);
  return settings;
}

std::vector<Drift> find_drift(const ckpt::Settings& stored, const ckpt::Settings& current) {
  std::map<std::string, Drift> rows;
  for (const auto& [key, value] : stored) rows[key] = {key, value, kNotSet};
  for (const auto& [key, value] : current) rows.try_emplace(key, Drift{key, kNotSet, ""}).first->second.config = value;
  std::vector<Drift> drift;
  for (const auto& [key, row] : rows) {
    const bool unknown = row.stored == kNotSet && !ckpt::has_setting(stored, key);
    if (row.stored == row.config || (unknown && stands_for(key, row.config))) continue;
    drift.push_back(row);
  }
  return drift;
}

bool same_sample_boundaries(const ckpt::Settings& stored, const ckpt::Settings& current) {
  static const std::set<std::string> kCutting = {
      "model.tokenizer",        "training.dataset",    "training.document_end", "training.pack",     "training.seq_len",
      "training.sample_stride", "training.text_field", "training.token_dtype",  "validation.holdout"};
  const std::vector<Drift> drift = find_drift(stored, current);
  return std::none_of(drift.begin(), drift.end(), [](const Drift& row) { return kCutting.contains(row.key); });
}

std::string environment_difference(const ckpt::Settings& stored, const ckpt::Settings& current) {
  const std::vector<Drift> drift = find_drift(stored, current);
  if (drift.empty()) return "";
  // Reports the device first, because most other differences follow from it.
  const auto device = std::ranges::find(drift, "device", &Drift::key);
  const Drift& told = device != drift.end() ? *device : drift[0];
  return told.key + ": " + told.stored + " in the checkpoint, " + told.config + " now";
}

}  // namespace titan::recipe
