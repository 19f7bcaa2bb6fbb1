#include "recipe/keys/suggest.h"

#include <algorithm>

namespace titan::recipe {
namespace {

std::string_view last_part(std::string_view name) {
  const auto dot = name.rfind('.');
  return dot == std::string_view::npos ? name : name.substr(dot + 1);
}

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
  // Three rows of the optimal string alignment table: before the last, last, current.
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before.swap(last);
    last.swap(row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[b.size()];
}

std::string nearest_name(std::string_view typed, const std::vector<std::string>& names) {
  const std::string* best = nullptr;
  std::size_t best_distance = 3;
  for (const std::string& name : names) {
    const std::size_t distance = edit_distance(typed, name);
    // Two edits in a name of three letters are another name.
    if (distance < best_distance && distance < std::max(typed.size(), name.size()) / 2 + 1) {
      best = &name;
      best_distance = distance;
    }
  }
  if (best) return *best;
  for (const std::string& name : names)
    if (name != typed && name.find('.') != std::string::npos && last_part(name) == last_part(typed)) return name;
  for (const std::string& name : names)
    if (typed.size() >= 4 && name.starts_with(typed)) return name;
  return "";
}

}  // namespace titan::recipe
