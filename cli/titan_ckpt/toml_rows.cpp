#include "cli/titan_ckpt/toml_rows.h"

#define TOML_HEADER_ONLY 1
#include <toml++/toml.h>

#include <algorithm>
#include <sstream>

#include "ckpt/base/toml_depth.h"
#include "ckpt/base/toml_text.h"

namespace titan::cli {
namespace {

constexpr std::uint64_t kLimit = 16 << 20;

std::string text_of(const toml::node& node) {
  if (const auto* text = node.as_string()) return ckpt::toml_string(text->get());
  if (const auto* real = node.as_floating_point()) return ckpt::toml_float(real->get());
  if (const auto* whole = node.as_integer()) return std::to_string(whole->get());
  if (const auto* truth = node.as_boolean()) return truth->get() ? "true" : "false";
  std::ostringstream out;
  if (const auto* list = node.as_array()) out << toml::toml_formatter{*list};
  return out.str();
}

void collect(const toml::table& table, const std::string& prefix, ckpt::Settings& rows) {
  for (const auto& [key, node] : table) {
    const std::string name = prefix + std::string(key.str());
    if (const toml::table* inner = node.as_table()) {
      collect(*inner, name + ".", rows);
    } else {
      rows.emplace_back(name, text_of(node));
    }
  }
}

}  // namespace

ckpt::Result<ckpt::Settings> read_toml_rows(ckpt::Fs& fs, const std::string& path) {
  const auto bytes = ckpt::read_file(fs, path, kLimit);
  if (!bytes.ok()) {
    ckpt::Status status = bytes.status();
    status.code = ckpt::Code::kInvalid;
    return status;
  }
  const std::string_view text(reinterpret_cast<const char*>(bytes->data()), bytes->size());
  TITAN_RETURN_IF_ERROR(ckpt::check_toml_depth(text, path));
  try {
    const toml::table table = toml::parse(text, std::string_view(path));
    ckpt::Settings rows;
    collect(table, "", rows);
    std::ranges::sort(rows);
    return rows;
  } catch (const toml::parse_error& error) {
    return ckpt::invalid(path + ":" + std::to_string(error.source().begin.line) + ":" +
                         std::to_string(error.source().begin.column) +
                         ": not valid TOML: " + std::string(error.description()));
  }
}

ckpt::Result<ckpt::Settings::value_type> parse_row(const std::string& text) {
  const std::size_t equals = text.find('=');
  const std::string key = text.substr(0, std::min(equals, text.size())),
                    value = equals == std::string::npos ? "" : text.substr(equals + 1);
  if (value.empty() || key.find('.') == std::string::npos)
    return ckpt::invalid("`--set " + text + "`: expected section.key=value");
  if (!ckpt::check_toml_depth(value, "").ok()) return ckpt::Settings::value_type(key, ckpt::toml_string(value));
  try {
    const toml::table table = toml::parse("x = " + value);
    if (table.size() == 1 && !table["x"].is_table()) return ckpt::Settings::value_type(key, text_of(*table.get("x")));
  } catch (const toml::parse_error&) {  // a word without quotes
  }
  return ckpt::Settings::value_type(key, ckpt::toml_string(value));
}

}  // namespace titan::cli
