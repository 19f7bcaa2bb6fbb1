#pragma once
// The code points that were added in Unicode 15, 15.1 and 16. A regex engine with the tables of Unicode 14 treats them
// as unassigned. Pure.
#include <cstdint>
#include <string_view>
#include <vector>

#include "ckpt/base/utf8.h"

namespace titan::recipe {

using ckpt::CodeRange;

/// The added code points of a general category ("L", "Lu", "N"), ascending.
std::vector<CodeRange> new_codes(std::string_view category);

/// Whether `code` is in one of `ranges`, which must ascend.
bool contains(const std::vector<CodeRange>& ranges, std::uint32_t code);

}  // namespace titan::recipe
