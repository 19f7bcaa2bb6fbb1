#include "recipe/keys/writer.h"

#include <algorithm>

namespace titan::recipe {
namespace {

std::string section_of(const std::string& name) { return name.substr(0, name.find('.')); }
std::string leaf_of(const std::string& name) { return name.substr(name.find('.') + 1); }

/// A comment must stay on one line: a path may contain a newline.
std::string on_one_line(std::string text) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  return text;
}

}  // namespace

ckpt::Settings resolved_settings(const Config& config) {
  ckpt::Settings settings;
  for (const Key& key : key_table())
    if (key.value_in)
      if (const std::optional<Value> value = get_value(key, config)) settings.emplace_back(key.name, to_toml(*value));
  std::ranges::sort(settings);
  return settings;
}

std::string config_toml(const Config& config, const std::function<std::string(const Key&)>& comment) {
  std::string out, section;
  for (const Key& key : key_table()) {
    const std::optional<Value> value = key.value_in ? get_value(key, config) : std::nullopt;
    if (!key.value_in || (!value && !comment)) continue;
    if (section_of(key.name) != section) {
      section = section_of(key.name);
      out += (out.empty() ? "[" : "\n[") + section + "]\n";
    }
    out += (value ? leaf_of(key.name) + " = " + to_toml(*value) : "# " + leaf_of(key.name) + " =") +
           (comment ? "  # " + on_one_line(comment(key)) : "") + "\n";
  }
  return out;
}

}  // namespace titan::recipe
