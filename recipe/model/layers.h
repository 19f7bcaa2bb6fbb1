#pragma once
// Layers by the numbers in names of tensors, ours and those of other programs. Pure.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace titan::recipe {

/// N of "layers.N.attention.wq.weight", also where a prefix that ends with a dot stands before it; nothing for a name
/// of no layer.
std::optional<std::uint64_t> layer_of(std::string_view name);

/// How many layers tensors of these names make, by the highest number; 0 where none is of a layer.
std::int64_t layers_in(const std::vector<std::string>& names);

}  // namespace titan::recipe
