#include "recipe/keys/toml_reader.h"

#include <algorithm>
#include <cctype>
#include <sstream>

#include <toml++/toml.h>

#include "ckpt/base/toml_depth.h"

namespace titan::recipe {
namespace {

TomlPosition position(const toml::source_region& region) {
  return {static_cast<std::uint32_t>(region.begin.line), static_cast<std::uint32_t>(region.begin.column)};
}

template <typename T>
std::string printed(const T& node) {
  std::ostringstream out;
  out << node;
  return out.str();
}

Value to_value(const toml::node& node);

/// The text of a table in a list: its members as words "key=value".
std::string table_words(const toml::table& table) {
  std::string words;
  for (auto&& [key, node] : table) {
    const Value value = to_value(node);
    const auto* text = value.as<std::string>();
    words += (words.empty() ? "" : " ") + std::string(key.str()) + "=" + (text != nullptr ? *text : to_toml(value));
  }
  return words;
}

Value to_value(const toml::node& node) {
  if (const auto* v = node.as_boolean()) return {v->get()};
  if (const auto* v = node.as_integer()) return {static_cast<std::int64_t>(v->get())};
  if (const auto* v = node.as_floating_point()) return {v->get()};
  if (const auto* v = node.as_string()) return {v->get()};
  if (const auto* v = node.as_date()) return {Value::Other{"a date", printed(*v)}};
  if (const auto* v = node.as_time()) return {Value::Other{"a time", printed(*v)}};
  if (const auto* v = node.as_date_time()) return {Value::Other{"a date and time", printed(*v)}};
  if (const auto* v = node.as_array()) {
    std::vector<Value> list;
    for (const toml::node& item : *v) {
      const auto* table = item.as_table();
      list.push_back(table ? Value{Value::Other{kTable, table_words(*table)}} : to_value(item));
    }
    return {std::move(list)};
  }
  return {Value::Other{kTable, "{...}"}};
}

void flatten(const toml::table& table, const std::string& prefix, std::vector<TomlEntry>& out) {
  for (auto&& [key, node] : table) {
    const std::string name = prefix + std::string(key.str());
    const toml::table* inner = node.as_table();
    if (inner && !inner->empty()) {
      flatten(*inner, name + ".", out);
    } else {
      Value value = inner ? Value{Value::Other{kEmptyTable, "{}"}} : to_value(node);
      out.push_back({name, std::move(value), position(key.source()), position(node.source())});
    }
  }
}

}  // namespace

ckpt::Result<std::vector<TomlEntry>> parse_toml(std::string_view text, const std::string& path) {
  TITAN_RETURN_IF_ERROR(ckpt::check_toml_depth(text, path));
  try {
    const toml::table table = toml::parse(text, std::string_view(path));
    std::vector<TomlEntry> entries;
    flatten(table, "", entries);
    std::ranges::stable_sort(entries, {}, &TomlEntry::key_at);
    return entries;
  } catch (const toml::parse_error& error) {
    const TomlPosition at = position(error.source());
    std::string what(error.description());
    if (!what.empty()) what[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(what[0])));
    return ckpt::invalid(path + ":" + std::to_string(at.line) + ":" + std::to_string(at.column) +
                         ": not valid TOML: " + what);
  }
}

Value parse_override_value(const std::string& text) {
  if (!ckpt::check_toml_depth(text, "").ok()) return {text};
  try {
    const toml::table table = toml::parse(std::string_view("v = " + text));
    if (table.size() == 1 && table.contains("v")) return to_value(*table.get("v"));
  } catch (const toml::parse_error&) {
    // Not TOML: a bare word or a path, kept as a string.
  }
  return {text};
}

}  // namespace titan::recipe
