#include "converters/name_table.h"

#include <algorithm>
#include <stdexcept>

namespace titan::convert {
namespace {

constexpr char kHuggingface[] =
#include "converters/names/huggingface.inc"
    ;
constexpr char kGguf[] =
#include "converters/names/gguf.inc"
    ;
constexpr char kMistral[] =
#include "converters/names/mistral.inc"
    ;
constexpr char kTorchtitan[] =
#include "converters/names/torchtitan.inc"
    ;

// The text up to `end`, which is taken off `text` with it.
std::string_view cut(std::string_view& text, char end) {
  const std::string_view part = text.substr(0, text.find(end));
  text.remove_prefix(std::min(text.size(), part.size() + 1));
  return part;
}

// Matches `name` with `pattern`; the layer's digits go to `layer`. Only the canonical spelling of a number does.
bool matches(std::string_view name, std::string_view pattern, std::string_view& layer) {
  const std::size_t mark = pattern.find('#');
  if (mark == std::string_view::npos) return name == pattern;
  const std::string_view before = pattern.substr(0, mark), after = pattern.substr(mark + 1);
  if (name.size() <= before.size() + after.size() || !name.starts_with(before) || !name.ends_with(after)) return false;
  layer = name.substr(before.size(), name.size() - before.size() - after.size());
  return layer.size() <= 9 && std::ranges::all_of(layer, [](char c) { return c >= '0' && c <= '9'; }) &&
         (layer.size() == 1 || layer[0] != '0');
}

std::string filled(std::string_view pattern, std::string_view layer) {
  std::string text(pattern);
  if (const std::size_t mark = text.find('#'); mark != std::string::npos) text.replace(mark, 1, layer);
  return text;
}

}  // namespace

NameTable::NameTable(std::string_view text) {
  while (!text.empty()) {
    std::string_view line = cut(text, '\n');
    if (line.empty() || line.starts_with('#')) continue;
    const std::string_view whole = line;
    Row row{.theirs = cut(line, '\t'), .ours = cut(line, '\t')};
    if (line == "query")
      row.rows = Rows::kQuery;
    else if (line == "key")
      row.rows = Rows::kKey;
    else if (!line.empty())
      throw std::logic_error("table of names: " + std::string(whole));
    if (row.theirs.empty() || row.ours.empty()) throw std::logic_error("table of names: " + std::string(whole));
    if (row.ours == "-")
      derivable_.push_back(row.theirs);
    else
      rows_.push_back(row);
  }
}

std::optional<MappedName> NameTable::ours(std::string_view theirs) const {
  std::string_view layer;
  for (const Row& row : rows_)
    if (matches(theirs, row.theirs, layer)) return MappedName{filled(row.ours, layer), row.rows};
  return std::nullopt;
}

std::optional<MappedName> NameTable::theirs(std::string_view ours) const {
  std::string_view layer;
  for (const Row& row : rows_)
    if (matches(ours, row.ours, layer)) return MappedName{filled(row.theirs, layer), row.rows};
  return std::nullopt;
}

bool NameTable::derivable(std::string_view theirs) const {
  std::string_view layer;
  return std::ranges::any_of(derivable_, [&](std::string_view pattern) { return matches(theirs, pattern, layer); });
}

const NameTable& huggingface_names() {
  static const NameTable table(kHuggingface);
  return table;
}

const NameTable& mistral_names() {
  static const NameTable table(kMistral);
  return table;
}

const NameTable& gguf_tensor_names() {
  static const NameTable table(kGguf);
  return table;
}

const NameTable& torchtitan_names() {
  static const NameTable table(kTorchtitan);
  return table;
}

}  // namespace titan::convert
