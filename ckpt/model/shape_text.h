#pragma once
// Formats a shape.
#include <cstdint>
#include <string>
#include <vector>

namespace titan::ckpt {

/// "[256, 4099]".
std::string shape_text(const std::vector<std::uint64_t>& shape);

}  // namespace titan::ckpt
