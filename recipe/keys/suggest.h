#pragma once
// "Did you mean": the nearest names to a mistyped one.
#include <string>
#include <string_view>
#include <vector>

namespace titan::recipe {

/// Returns the name of `names` nearest to `typed`: at most 2 edits away, or (dotted names) the same last part in
/// another section, or one that `typed` begins. Empty when nothing is near; ties go to the earlier name.
std::string nearest_name(std::string_view typed, const std::vector<std::string>& names);

}  // namespace titan::recipe
