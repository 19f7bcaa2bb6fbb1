#pragma once
// "Did you mean": the known name nearest to a mistyped one.
#include <string>
#include <string_view>
#include <vector>

namespace titan::recipe {

/// Returns the name in `names` nearest to `typed`: at most 2 edits away, or (dotted names) with the same last part in
/// another section, or one that begins with `typed`. Empty when none is near; among equals the first one.
std::string nearest_name(std::string_view typed, const std::vector<std::string>& names);

}  // namespace titan::recipe
