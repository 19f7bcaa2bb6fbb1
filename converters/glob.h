#pragma once
// Shell patterns over tensor names ("*" also crosses dots).
#include <string>
#include <vector>

namespace titan::convert {

/// True when one of `globs` is `name` or matches it.
bool matches_any(const std::vector<std::string>& globs, const std::string& name);

}  // namespace titan::convert
