#include "recipe/model/layers.h"

#include <algorithm>

#include "ckpt/base/text.h"

namespace titan::recipe {

std::optional<std::uint64_t> layer_of(std::string_view name) {
  constexpr std::string_view kLayers = "layers.", kBehind = ".layers.";
  if (!name.starts_with(kLayers)) {
    const std::size_t at = name.find(kBehind);
    if (at == std::string_view::npos) return std::nullopt;
    name.remove_prefix(at + 1);
  }
  name.remove_prefix(kLayers.size());
  const auto number = ckpt::number_of<std::uint64_t>(name.substr(0, name.find('.')));
  return number && *number < UINT32_MAX ? number : std::nullopt;
}

std::int64_t layers_in(const std::vector<std::string>& names) {
  std::int64_t layers = 0;
  for (const std::string& name : names)
    if (const auto layer = layer_of(name)) layers = std::max(layers, static_cast<std::int64_t>(*layer) + 1);
  return layers;
}

}  // namespace titan::recipe
