#pragma once
// "Did you mean": the known name nearest to a mistyped one.
#include <string>
#include <string_view>
#include <vector>

namespace titan::recipe {

/// The name in `names` nearest to `typed`: at most 2 edits away (fewer for names of up to three bytes), or (dotted
/// names) with the same last part in another section, or beginning with `typed` (four bytes or more). Of several
/// equally near names the first; empty if none is near.
std::string nearest_name(std::string_view typed, const std::vector<std::string>& names);

}  // namespace titan::recipe
