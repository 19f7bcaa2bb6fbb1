#include "cli/titan_train/config_text.h"

#include <algorithm>

#include "ckpt/format/json_writer.h"
#include "recipe/keys/loader.h"
#include "recipe/keys/reference.h"
#include "recipe/keys/writer.h"

namespace titan::cli {

using ckpt::json_string;
using recipe::Key;
using recipe::LoadedConfig;
using recipe::Origin;
using recipe::Value;

namespace {

Origin origin_of(const LoadedConfig& loaded, const Key& key) {
  const auto found = loaded.origins.find(key.name);
  return found == loaded.origins.end() ? Origin{} : found->second;
}

std::string json_value(const Value& value) {
  if (const auto* number = value.as<double>()) {
    std::string text = recipe::toml_float(*number);
    return *number - *number == 0 ? text : json_string(text);  // JSON has no nan and no inf
  }
  return recipe::to_toml(value);  // TOML's booleans, integers and basic strings are JSON's
}

const char* origin_kind(Origin::Kind kind) {
  switch (kind) {
    case Origin::Kind::kDefault: return "default";
    case Origin::Kind::kFile: return "file";
    case Origin::Kind::kFlag: return "flag";
    case Origin::Kind::kCheckpoint: return "checkpoint";
  }
  return "default";
}

}  // namespace

std::string config_text(const LoadedConfig& loaded) {
  return recipe::config_toml(loaded.config, [&](const Key& key) { return origin_of(loaded, key).text(); });
}

std::string config_json(const LoadedConfig& loaded) {
  std::string out =
      "{\"schema\":\"titan.config/1\",\"config_file\":" + json_string(loaded.config.job.config_file) + ",\"keys\":[";
  bool first = true;
  for (const Key& key : recipe::key_table()) {
    if (!key.slot) continue;
    const std::optional<Value> value = recipe::get_value(key, loaded.config);
    const Origin origin = origin_of(loaded, key);
    out += std::string(first ? "" : ",") + "\n{\"key\":" + json_string(key.name) +
           ",\"value\":" + (value ? json_value(*value) : "null") + ",\"class\":\"" + recipe::class_name(key.cls) +
           "\",\"origin\":\"" + origin_kind(origin.kind) + "\"";
    if (origin.kind != Origin::Kind::kDefault) out += ",\"source\":" + json_string(origin.source);
    if (origin.kind == Origin::Kind::kFile)
      out += ",\"line\":" + std::to_string(origin.line) + ",\"column\":" + std::to_string(origin.column);
    out += "}";
    first = false;
  }
  out += "],\n\"warnings\":[";
  for (std::size_t i = 0; i < loaded.warnings.size(); ++i) out += (i ? "," : "") + json_string(loaded.warnings[i]);
  return out + "]}\n";
}

std::string classes_text() {
  const std::vector<recipe::ChangeRule> rules = recipe::change_rules();
  std::size_t width = 0;
  for (const recipe::ChangeRule& rule : rules) width = std::max(width, rule.name.size());
  std::string out;
  for (const auto& [name, cls, change] : rules)
    out += name + std::string(width - name.size(), ' ') + "  " + cls + std::string(11 - cls.size(), ' ') + "  " +
           change + "\n";
  return out;
}

std::string classes_json() {
  std::string out = "{\"schema\":\"titan.classes/1\",\"keys\":[";
  bool first = true;
  for (const auto& [name, cls, change] : recipe::change_rules()) {
    out += std::string(first ? "" : ",") + "\n{\"key\":" + json_string(name) + ",\"class\":" + json_string(cls) +
           ",\"change\":" + json_string(change) + "}";
    first = false;
  }
  return out + "]}\n";
}

}  // namespace titan::cli
