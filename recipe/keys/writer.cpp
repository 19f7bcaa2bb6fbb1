#include "recipe/keys/writer.h"

#include <algorithm>
#include <array>
#include <functional>

#include "ckpt/format/json_writer.h"
#include "recipe/change/permission.h"

namespace titan::recipe {
namespace {

std::string section_of(const std::string& name) { return name.substr(0, name.find('.')); }
std::string leaf_of(const std::string& name) { return name.substr(name.find('.') + 1); }

/// Writes all keys in table order under their [section] headers; `line` gives the text of one key (empty: left out).
std::string by_section(const std::function<std::string(const Key&)>& line) {
  std::string out, section;
  for (const Key& key : key_table()) {
    if (!key.slot) continue;
    const std::string text = line(key);
    if (text.empty()) continue;
    if (section_of(key.name) != section) {
      section = section_of(key.name);
      out += (out.empty() ? "[" : "\n[") + section + "]\n";
    }
    out += text + "\n";
  }
  return out;
}

std::string assignment(const Key& key, const std::optional<Value>& value) {
  return value ? leaf_of(key.name) + " = " + to_toml(*value) : "# " + leaf_of(key.name) + " =";
}

/// Bytes in a comment must not end it: a path may hold a newline.
std::string comment(const std::string& text) {
  std::string out = "  # ";
  for (const char c : text) out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  return out;
}

std::string json_value(const Value& value) {
  if (const auto* number = value.as<double>()) {
    std::string text = toml_float(*number);
    return *number - *number == 0 ? text : ckpt::json_string(text);  // JSON has no nan and no inf
  }
  return to_toml(value);  // TOML's booleans, integers and basic strings are JSON's
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

/// The doc of a key with what it accepts, where that is not obvious.
std::string full_comment(const Key& key) {
  std::string text = key.doc;
  const std::string type = type_name(key);
  if (key.choices.size() > 1 || type == "integer" || type == "float") text += "; " + expectation(key);
  return text + " [" + class_name(key.cls) + "]";
}

std::string tolerated(const Key& key) {
  if (key.any_harmless) return "any value: " + key.doc;
  std::string values;
  for (const Value& value : key.harmless) values += to_toml(value) + ", ";
  return values + "false, \"\", \"none\", []" + (key.pass_over ? "; of a file any, with a warning: " : ": ") + key.doc;
}

/// What a changed value of a key means for a resume.
std::string change_text(const Key& key) {
  if (!key.slot && key.pass_over) return "no effect here; a flag that asks for something is refused";
  if (!key.slot)
    return key.any_harmless ? "no effect here" : "not built: only values that ask for nothing are accepted";
  switch (key.cls) {
    case KeyClass::kCurve: break;
    case KeyClass::kLayout: return "free: the same bits";
    case KeyClass::kSaving: return "free";
    case KeyClass::kLogging: return "free";
    case KeyClass::kEnvironment: return "free; what changes bits is warned of";
    case KeyClass::kStart: return "never compared";
  }
  if (key.name == "model.flavor") return "compared by its dimensions";
  if (key.name == "training.steps")
    return "--allow with lr_scheduler.on_change; free while lr_scheduler.total_steps is set";
  if (key.name == "parallelism.pipeline_parallel_microbatch_size") return "--allow: from the next step on";
  switch (change_effect(key.name)) {
    case ChangeEffect::kSchedule: return "--allow with lr_scheduler.on_change";
    case ChangeEffect::kInPlace: return "--allow: from the next step on";
    case ChangeEffect::kGlobalBatch: return "--allow: from the next step on, at the same sample";
    case ChangeEffect::kNewEpoch: return "--allow: a new epoch of the data begins";
    case ChangeEffect::kNever: return "never within a run; --init-from starts a new one";
  }
  return "";
}

/// (name, class, what a change means) of every key, then of the flags that say how a start finds its state.
std::vector<std::array<std::string, 3>> class_rows() {
  std::vector<std::array<std::string, 3>> rows;
  for (const Key& key : key_table()) rows.push_back({key.name, class_name(key.cls), change_text(key)});
  for (const char* flag : {"--resume", "--init-from", "--init-map", "--allow"})
    rows.push_back({flag, class_name(KeyClass::kStart), "never compared"});
  return rows;
}

}  // namespace

ckpt::Settings resolved_settings(const Config& config) {
  ckpt::Settings settings;
  for (const Key& key : key_table())
    if (key.slot)
      if (const std::optional<Value> value = get_value(key, config)) settings.emplace_back(key.name, to_toml(*value));
  std::ranges::sort(settings);
  return settings;
}

std::string config_toml(const Config& config) {
  return by_section([&](const Key& key) {
    const std::optional<Value> value = get_value(key, config);
    return value ? assignment(key, value) : "";
  });
}

std::string describe_config(const LoadedConfig& loaded) {
  return by_section([&](const Key& key) {
    const auto origin = loaded.origins.find(key.name);
    return assignment(key, get_value(key, loaded.config)) +
           comment(origin == loaded.origins.end() ? "default" : origin->second.text());
  });
}

std::string describe_config_json(const LoadedConfig& loaded) {
  std::string out =
      "{\"schema\":\"titan.config/1\",\"config_file\":" + ckpt::json_string(loaded.config.job.config_file) +
      ",\"keys\":[";
  bool first = true;
  for (const Key& key : key_table()) {
    if (!key.slot) continue;
    const std::optional<Value> value = get_value(key, loaded.config);
    const auto found = loaded.origins.find(key.name);
    const Origin origin = found == loaded.origins.end() ? Origin{} : found->second;
    out += std::string(first ? "" : ",") + "\n{\"key\":" + ckpt::json_string(key.name) +
           ",\"value\":" + (value ? json_value(*value) : "null") + ",\"class\":\"" + class_name(key.cls) +
           "\",\"origin\":\"" + origin_kind(origin.kind) + "\"";
    if (origin.kind != Origin::Kind::kDefault) out += ",\"source\":" + ckpt::json_string(origin.source);
    if (origin.kind == Origin::Kind::kFile)
      out += ",\"line\":" + std::to_string(origin.line) + ",\"column\":" + std::to_string(origin.column);
    out += "}";
    first = false;
  }
  out += "],\n\"warnings\":[";
  for (std::size_t i = 0; i < loaded.warnings.size(); ++i)
    out += (i ? "," : "") + ckpt::json_string(loaded.warnings[i]);
  return out + "]}\n";
}

std::string key_classes() {
  std::string out;
  const auto rows = class_rows();
  std::size_t width = 0;
  for (const auto& row : rows) width = std::max(width, row[0].size());
  for (const auto& [key, cls, change] : rows)
    out += key + std::string(width - key.size(), ' ') + "  " + cls + std::string(11 - cls.size(), ' ') + "  " + change +
           "\n";
  return out;
}

std::string key_classes_json() {
  std::string out = "{\"schema\":\"titan.classes/1\",\"keys\":[";
  bool first = true;
  for (const auto& [key, cls, change] : class_rows()) {
    out += std::string(first ? "" : ",") + "\n{\"key\":" + ckpt::json_string(key) +
           ",\"class\":" + ckpt::json_string(cls) + ",\"change\":" + ckpt::json_string(change) + "}";
    first = false;
  }
  return out + "]}\n";
}

std::string full_toml() {
  std::string out =
      "# Every key of titan-train with its default: generated from the key table, do not edit.\n"
      "# In brackets, what a changed value means for a run that resumes: curve (refused: it would bend the loss "
      "curve),\n"
      "# layout, saving, logging, environment, start (free to change). A key that is commented out is unset by "
      "default.\n\n";
  const Config defaults;
  out += by_section(
      [&](const Key& key) { return assignment(key, get_value(key, defaults)) + comment(full_comment(key)); });
  out += "\n# torchtitan's keys without an effect here; other values are refused by name:\n";
  for (const Key& key : key_table())
    if (!key.slot) out += "#   " + key.name + "  " + tolerated(key) + "\n";
  out += "\n# Other names of keys:\n";
  for (const Alias& alias : key_aliases()) out += "#   " + alias.name + " = " + alias.key + "\n";
  return out;
}

}  // namespace titan::recipe
