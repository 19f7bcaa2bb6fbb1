#include "converters/glob.h"

#include <fnmatch.h>

#include <algorithm>

namespace titan::convert {

bool matches_any(const std::vector<std::string>& globs, const std::string& name) {
  return std::ranges::any_of(globs, [&](const std::string& glob) { return name == glob || fnmatch(glob.c_str(), name.c_str(), 0) == 0; });
}

}  // namespace titan::convert
