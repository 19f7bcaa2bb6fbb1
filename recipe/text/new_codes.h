#pragma once
// Code points that a regex engine of Unicode 14 takes for unassigned, though Unicode 16 has them. Pure.
#include <cstdint>
#include <string_view>
#include <vector>

namespace titan::recipe {

struct CodeRange {
  std::uint32_t first = 0, last = 0;
  bool operator==(const CodeRange&) const = default;
};

/// The code points of a general category ("L", "Lu", "N") that came with Unicode 15, 15.1 and 16, ascending.
std::vector<CodeRange> new_codes(std::string_view category);

/// Whether one of `ranges`, which ascend, has `code`.
bool contains(const std::vector<CodeRange>& ranges, std::uint32_t code);

}  // namespace titan::recipe
