#pragma once
// Finds layer numbers in tensor names, Titan's and those of other programs. Pure.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace titan::recipe {

/// The number N in "layers.N.attention.wq.weight", which may follow a prefix that ends with a dot; nullopt if the name
/// belongs to no layer.
std::optional<std::uint64_t> layer_of(std::string_view name);

/// The number of layers of a model with tensors of these names: the highest layer number plus one; 0 if no name belongs
/// to a layer.
std::int64_t layers_in(const std::vector<std::string>& names);

}  // namespace titan::recipe
