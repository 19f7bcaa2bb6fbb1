#include "recipe/change/model_source.h"

#include <algorithm>

#include "ckpt/base/text.h"
#include "ckpt/plan/lr_settings.h"
#include "recipe/keys/loader.h"
#include "recipe/keys/toml_reader.h"
#include "recipe/model/manifest_dims.h"

namespace titan::recipe {
namespace {

constexpr const char* kScaling = "model.rope_scaling";

bool given(const LoadedConfig& loaded, const std::string& key) {
  const auto origin = loaded.origins.find(key);
  return origin != loaded.origins.end() &&
         (origin->second.kind == Origin::Kind::kFile || origin->second.kind == Origin::Kind::kFlag);
}

bool says_all(const ckpt::Settings& rows) {
  return std::ranges::all_of(kModelDimensions, [&](const char* key) { return ckpt::has_setting(rows, key); });
}

/// The value in the form of the key table; nullopt for a row that cannot be read.
std::optional<Value> read_row(const std::string& key, const std::string& text) {
  Config config;
  if (!set_value(*find_key(key), parse_override_value(text), config).ok()) return std::nullopt;
  if (config.model.rope_scaling) {
    const auto scaling = parse_rope_scaling(*config.model.rope_scaling);
    if (scaling.ok()) config.model.rope_scaling = rope_scaling_text(*scaling);
  }
  return get_value(*find_key(key), config);
}

std::string shown(const std::string& key, const std::optional<Value>& value) {
  if (value) return to_toml(*value);
  if (key == "model.sliding_window") return "0";
  return key == kScaling ? "\"none\"" : key == "model.sliding_window_layers" ? "\"all\"" : "false";
}

/// Keeps the checkpoint's RoPE scaling if the checkpoint describes everything else of its model. The flavour's name
/// does not decide, because flavours did not include RoPE scaling in earlier versions.
Result<LoadedConfig> with_scaling_of(const LoadedConfig& alone, const ckpt::Settings& rows, const std::string& path) {
  if (given(alone, kScaling) || !says_all(rows)) return alone;
  const std::string row = ckpt::setting(rows, kScaling);
  LoadedConfig loaded = alone;
  const Value value = row == ckpt::kNotSet ? Value{std::string(kPlainRope)} : parse_override_value(row);
  const Status status = set_value(*find_key(kScaling), value, loaded.config);
  if (!status.ok()) return ckpt::incompatible(path + ": the stored configuration cannot be read: " + status.message);
  const auto without = model_dims(alone.config), with = model_dims(loaded.config);
  if (without.ok() && with.ok() && *without == *with) return alone;
  loaded.origins[kScaling] = {Origin::Kind::kCheckpoint, path};
  return loaded;
}

}  // namespace

Result<LoadedConfig> with_model_of(const LoadedConfig& alone, const ckpt::Settings& rows, const std::string& path) {
  if (alone.config.model.flavor) return with_scaling_of(alone, rows, path);
  LoadedConfig loaded = alone;
  for (const std::string& key : model_keys()) {
    const auto row = std::ranges::find(rows, key, &ckpt::Settings::value_type::first);
    if (row == rows.end() || row->second == ckpt::kNotSet || given(loaded, key)) continue;
    const Status status = set_value(*find_key(key), parse_override_value(row->second), loaded.config);
    if (!status.ok()) return ckpt::incompatible(path + ": the stored configuration cannot be read: " + status.message);
    loaded.origins[key] = {Origin::Kind::kCheckpoint, path};
  }
  // The configuration alone gives this model: nothing was taken from the checkpoint.
  const auto without = model_dims(alone.config), with = model_dims(loaded.config);
  if (without.ok() && with.ok() && *without == *with) return alone;
  return loaded;
}

bool asks_for_model(const LoadedConfig& loaded) {
  return loaded.config.model.flavor || (given(loaded, "model.dim") && given(loaded, "model.n_layers"));
}

Status check_model_asked(const LoadedConfig& loaded, const std::string& checkpoint_dir) {
  if (asks_for_model(loaded)) return ckpt::ok_status();
  return ckpt::invalid("no model was asked for, and there is no checkpoint in " + checkpoint_dir +
                       " that would bring one")
      .with_hint(
          "name it by model.flavor or its size, or say where it is (--init-from, --resume, job.dump_folder):"
          "\n    --model.flavor=debugmodel                  a model by its name (in a TOML file: flavor under [model])"
          "\n    --model.dim=256 --model.n_layers=6         a model by its size, and what else it has of its own"
          "\n    --init-from PATH                           the weights of a checkpoint or of a Hugging Face folder"
          "\n    --resume PATH                              a checkpoint to continue from"
          "\n    --job.dump_folder=RUN                      the folder of a run that has checkpoints");
}

std::vector<std::string> unknown_model_keys(const LoadedConfig& loaded, const ckpt::Settings& rows) {
  std::vector<std::string> missing;
  if (loaded.config.model.flavor || says_all(rows)) return missing;
  for (const char* key : kModelDimensions)
    if (!given(loaded, key) && !ckpt::has_setting(rows, key)) missing.emplace_back(key);
  // A checkpoint without eps and theta does not tell whether RoPE is scaled.
  if (!given(loaded, kScaling) && !ckpt::has_setting(rows, kScaling))
    missing.emplace_back(std::string(kScaling) + " (\"none\" without scaling)");
  // Both follow from the number of heads and the shapes.
  if (std::ranges::find(missing, "model.n_heads") != missing.end() && ckpt::has_setting(rows, "model.dim"))
    std::erase_if(missing, [](const std::string& key) { return key == "model.n_kv_heads" || key == "model.head_dim"; });
  return missing;
}

Status check_model_known(const LoadedConfig& loaded, const ckpt::Settings& rows, const std::string& path) {
  const std::vector<std::string> missing = unknown_model_keys(loaded, rows);
  if (missing.empty()) return ckpt::ok_status();
  return ckpt::incompatible(path + " does not say what model it holds, and the configuration does not either: " +
                            ckpt::joined(missing))
      .with_hint(
          "set these keys under [model], or a model.flavor that is this model; "
          "a flavour scales RoPE as torchtitan does, unless model.rope_scaling = \"none\"");
}

std::vector<Drift> model_differences(const ModelDims& dims, const ckpt::Settings& rows) {
  Config ours;
  set_dims(dims, ours);
  std::vector<Drift> differences;
  for (const std::string& key : model_keys()) {
    const bool there = ckpt::has_setting(rows, key) && ckpt::setting(rows, key) != ckpt::kNotSet;
    if (!there && !says_all(rows)) continue;
    const std::string stored = shown(key, there ? read_row(key, ckpt::setting(rows, key)) : std::nullopt);
    const std::string wanted = shown(key, get_value(*find_key(key), ours));
    if (stored != wanted) differences.push_back({key, stored, wanted});
  }
  return differences;
}

std::string no_longer_given(const LoadedConfig& alone, const LoadedConfig& loaded, const ckpt::Settings& rows,
                            const ckpt::TrainState& state) {
  // The whole model of a run that began at step 1 and without weights comes from its configuration.
  const bool began_here = state.origin.empty() && !state.attempts.empty() && state.attempts.front().first_step == 1;
  if (!began_here || model_source(loaded).empty()) return "";
  const auto dims = model_dims(alone.config);
  std::vector<std::string> keys;
  if (alone.config.model.flavor) {
    const std::string scaling = loaded.config.model.rope_scaling.value_or(kPlainRope);
    const bool scales = dims.ok() && dims->rope_scaling;
    return "model.flavor = " + toml_string(*alone.config.model.flavor) + " scales RoPE by \"" +
           (scales ? rope_scaling_text(*dims->rope_scaling) : kPlainRope) +
           "\" now, and this run continues with its first value: model.rope_scaling = " + toml_string(scaling);
  }
  if (dims.ok()) {
    for (const Drift& row : model_differences(*dims, rows)) {
      const auto origin = loaded.origins.find(row.key);
      if (origin != loaded.origins.end() && origin->second.kind == Origin::Kind::kCheckpoint)
        keys.push_back(row.key + " = " + row.stored + " (else " + row.config + ")");
    }
  }
  const std::string which = dims.ok() ? ckpt::joined(keys) : model_source_line(loaded);
  return which.empty() ? "" : "no longer in the configuration, and still the run's: " + which;
}

std::string model_source(const LoadedConfig& loaded) {
  for (const auto& [key, origin] : loaded.origins)
    if (origin.kind == Origin::Kind::kCheckpoint) return origin.source;
  return "";
}

std::string model_source_line(const LoadedConfig& loaded) {
  std::vector<std::string> keys;
  for (const std::string& key : model_keys()) {
    const auto origin = loaded.origins.find(key);
    if (origin == loaded.origins.end() || origin->second.kind != Origin::Kind::kCheckpoint) continue;
    keys.push_back(key.substr(6));
  }
  return keys.empty() ? "" : ckpt::joined(keys) + " from checkpoint " + model_source(loaded);
}

}  // namespace titan::recipe
