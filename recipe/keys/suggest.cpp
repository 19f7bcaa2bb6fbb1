#include "recipe/keys/suggest.h"

#include <algorithm>

#include "ckpt/base/nearest.h"

namespace titan::recipe {
namespace {

std::string_view last_part(std::string_view name) { return name.substr(name.rfind('.') + 1); }  // npos + 1 is 0

}  // namespace

std::string nearest_name(std::string_view typed, const std::vector<std::string>& names) {
  const std::string* best = nullptr;
  std::size_t best_distance = 3;
  for (const std::string& name : names) {
    const std::size_t distance = ckpt::edit_distance(typed, name);
    // Fewer edits than half of the longer name's length plus one: two edits make another name of three letters.
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
