#include "recipe/keys/rows.h"

#include <algorithm>

#include "ckpt/base/text.h"
#include "ckpt/plan/lr_settings.h"
#include "ckpt/store/named_file.h"
#include "recipe/keys/config.h"
#include "recipe/keys/overrides.h"
#include "recipe/keys/toml_reader.h"

namespace titan::recipe {
namespace {

constexpr std::uint64_t kMaxRowsBytes = 16u << 20;

/// All names of `key`; its own name is first.
std::vector<std::string> names_of(const Key& key) {
  std::vector<std::string> names{key.name};
  if (!key.unset_follows.empty()) names.push_back(key.unset_follows);
  names.insert(names.end(), key.aliases.begin(), key.aliases.end());
  return names;
}

/// Sets `key`. A value that is not one of Titan's choices is an error only for keys of the LR schedule.
Status take(const Key& key, const Value& value, Config& config) {
  if (key.effect == ChangeEffect::kSchedule || key.cls != KeyClass::kCurve) return set_value(key, value, config);
  Key lenient = key;
  lenient.choices.clear();
  lenient.unsupported.clear();
  return set_value(lenient, value, config);
}

}  // namespace

Result<ckpt::Settings> read_rows(ckpt::Fs& fs, const std::string& path) {
  const auto bytes = ckpt::read_named_file(fs, path, "a configuration", kMaxRowsBytes);
  if (!bytes.ok()) {
    Status status = bytes.status();
    status.code = ckpt::Code::kInvalid;
    return status;
  }
  TITAN_ASSIGN_OR_RETURN(const std::vector<TomlEntry> entries, parse_toml(ckpt::text_of(*bytes), path));
  ckpt::Settings rows;
  for (const TomlEntry& entry : entries) {
    const auto* other = entry.value.as<Value::Other>();
    if (other == nullptr || other->kind != kEmptyTable) rows.emplace_back(entry.key, to_toml(entry.value));
  }
  std::ranges::sort(rows);
  return rows;
}

Result<ckpt::Settings::value_type> parse_row(const std::string& text) {
  const auto split = split_set(text);
  if (!split || split->second.empty() || split->first.find('.') == std::string::npos)
    return ckpt::invalid("`--set " + text + "`: expected section.key=value");
  const auto& [key, value] = *split;
  const Value read = parse_override_value(value);
  return ckpt::Settings::value_type(key, read.as<Value::Other>() ? toml_string(value) : to_toml(read));
}

std::string stored_key(const ckpt::Settings& rows, const std::string& key) {
  for (const std::string& name : names_of(*find_key(key)))
    if (ckpt::setting(rows, name) != ckpt::kNotSet) return name;
  return "";
}

Result<Config> config_of_rows(const ckpt::Settings& rows, const std::vector<std::string>& keys) {
  Config config;
  for (const std::string& name : keys) {
    const Key& key = *find_key(name);
    const std::string said = stored_key(rows, name);
    if (said.empty() || said == key.unset_follows) continue;
    TITAN_RETURN_IF_ERROR(take(key, parse_override_value(ckpt::setting(rows, said)), config));
  }
  return config;
}

std::vector<std::string> lr_keys() {
  std::vector<std::string> keys;
  for (const Key& key : key_table())
    if (key.effect == ChangeEffect::kSchedule) keys.push_back(key.name);
  return keys;
}

ckpt::LrSettings lr_settings(const Config& config) {
  const Config::LrScheduler& lr = config.lr_scheduler;
  return {config.optimizer.lr,
          static_cast<std::uint64_t>(lr.warmup_steps),
          static_cast<std::uint64_t>(lr.total_steps.value_or(config.training.steps)),
          lr.decay_ratio,
          lr.decay_type,
          lr.min_lr_factor};
}

}  // namespace titan::recipe
