#pragma once
// The two files that are generated from the key table.
#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "recipe/keys/config.h"
#include "recipe/keys/writer.h"

namespace titan::test {

using recipe::Alias;
using recipe::Config;
using recipe::Key;
using recipe::key_aliases;
using recipe::key_table;
using recipe::Value;

/// The doc of a key with what it accepts, where that is not obvious.
inline std::string full_comment(const Key& key) {
  std::string text = key.doc;
  const std::string type = type_name(key);
  if (key.choices.size() > 1 || type == "integer" || type == "float" || type == "interval")
    text += "; " + expectation(key);
  return text + " [" + class_name(key.cls) + "]";
}

/// What a key without effect accepts.
inline std::string tolerated(const Key& key) {
  if (key.any_harmless) return "any value";
  std::string values;
  for (const Value& value : key.harmless) values += to_toml(value) + ", ";
  return values + "false, \"\", \"none\", []" + (key.ignore_if ? "; in a file any value, with a warning" : "");
}

inline constexpr const char* kIntroduction = R"(# Configuration keys

<!-- Generated from the key table (recipe/keys); do not edit. TITAN_UPDATE_GOLDEN=1 build/bin/titan_recipe_tests writes it anew. -->

`titan-train run CONFIG.toml` reads one TOML file. `--section.key=value` on the command line wins over the file, and the
file wins over the defaults below. [configs/full.toml](../configs/full.toml) has the same keys with their defaults as a
file. `titan-train config CONFIG.toml` prints every value with its origin. A key that is not listed here is refused, and
the nearest name is suggested.

The values `""` and `none` unset an optional string and empty a list. Other optional keys are unset by `none` only. For
`model.rope_scaling`, `none` is a value like others. To name a file that is called none, write `./none`.

The class of a key says what a changed value means for a run that resumes. `titan-train config --classes` prints it for
each key; [going-on.md](going-on.md) explains it.

| class | a changed value |
|---|---|
| curve | shapes the loss curve. A resume refuses it unless `--allow KEY` permits it |
| layout | decides which rank computes what, and how. It is free to change and gives the same bits |
| saving | decides when and where state is saved. It is free to change |
| logging | decides what is reported. It is free to change |
| environment | is about the machine. It is free to change; if a change affects the bits, there is a warning |
| start | decides which state this start loads, and how. It is never compared with the checkpoint |
)";

/// Text of a table cell, with bars escaped.
inline std::string cell(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '|' ? std::string("\\|") : std::string(1, c);
  return out;
}

/// The doc of a key without its remark about the unset key, and that remark ("training.steps"; empty if there is none).
inline std::pair<std::string, std::string> split_doc(const std::string& doc) {
  constexpr std::string_view kUnset = "unset: ";
  const std::size_t at = doc.find(kUnset);
  if (at == std::string::npos) return {doc, ""};
  const std::size_t end = std::min(doc.find("; ", at), doc.size());
  const std::string before = doc.substr(0, at < 2 ? 0 : at - 2);
  return {before + doc.substr(end), doc.substr(at + kUnset.size(), end - at - kUnset.size())};
}

inline std::string key_row(const Key& key, const Config& defaults) {
  const auto [what, unset] = split_doc(key.doc);
  const std::optional<Value> value = get_value(key, defaults);
  return "| `" + key.name + "` | " + cell(expectation(key)) + " | " +
         (value ? "`" + to_toml(*value) + "`" : "unset" + (unset.empty() ? "" : ": " + cell(unset))) + " | " +
         class_name(key.cls) + " | " + cell(what) + " |\n";
}

/// Every key with its default, doc, limits and class, as TOML (configs/full.toml).
inline std::string full_toml() {
  std::string out =
      "# Every key of titan-train with its default: generated from the key table, do not edit.\n"
      "# In brackets, what a changed value means for a run that resumes: curve (refused: it would change the loss "
      "curve),\n"
      "# layout, saving, logging, environment, start (free to change). A key that is commented out is unset by "
      "default.\n\n";
  out += config_toml(Config{}, full_comment);
  out += "\n# torchtitan's keys without an effect here, with the values that are accepted:\n";
  for (const Key& key : key_table())
    if (!key.value_in) out += "#   " + key.name + "  " + tolerated(key) + ": " + key.doc + "\n";
  out += "\n# Other names of keys:\n";
  for (const Alias& alias : key_aliases()) out += "#   " + alias.name + " = " + alias.key + "\n";
  return out;
}

/// The same as a page of tables (docs/configuration.md).
inline std::string keys_page() {
  std::string out = kIntroduction, section;
  const Config defaults;
  for (const Key& key : key_table()) {
    if (!key.value_in) continue;
    if (!key.name.starts_with(section + ".") || section.empty()) {
      section = key.name.substr(0, key.name.find('.'));
      out += "\n## " + section + "\n\n| key | values | default | class | what it does |\n|---|---|---|---|---|\n";
    }
    out += key_row(key, defaults);
  }
  out +=
      "\n## Keys of torchtitan without an effect\n\nOnly the values below are accepted. An error "
      "names a key with any other value.\n\n| key | accepted values | what it is about |\n|---|---|---|\n";
  for (const Key& key : key_table())
    if (!key.value_in) out += "| `" + key.name + "` | " + cell(tolerated(key)) + " | " + cell(key.doc) + " |\n";
  out += "\n## Other names\n\nVersions of torchtitan use these names for keys above.\n\n| name | key |\n|---|---|\n";
  for (const Alias& alias : key_aliases()) out += "| `" + alias.name + "` | `" + alias.key + "` |\n";
  return out;
}

}  // namespace titan::test
