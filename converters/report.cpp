#include "converters/report.h"

#include <algorithm>

namespace titan::convert {

const char* fate_name(Fate fate) {
  switch (fate) {
    case Fate::kWritten: return "written";
    case Fate::kTied: return "tied";
    case Fate::kDropped: return "dropped";
    case Fate::kSkipped: return "skipped";
  }
  return "written";
}

void Rounding::add(const ckpt::RoundingError& part, const std::string& name, std::uint64_t first) {
  error.rounded += part.rounded;
  error.overflowed += part.overflowed;
  if (part.largest <= error.largest) return;
  error.largest = part.largest;
  error.at = first + part.at;
  tensor = name;
}

std::string listed(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 5;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kShown); ++i) text += (i > 0 ? ", '" : "'") + names[i] + "'";
  return names.size() > kShown ? text + " and " + std::to_string(names.size() - kShown) + " more" : text;
}

}  // namespace titan::convert
