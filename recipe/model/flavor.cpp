#include "recipe/model/flavor.h"

#include <algorithm>

namespace titan::recipe {
namespace {

constexpr Flavor kFlavors[] = {
    {"debugmodel", 256, 6, 16, 16, 2048, 256, 1.0},
    {"8B", 4096, 32, 32, 8, 128256, 1024, 1.3},
    {"70B", 8192, 80, 64, 8, 128256, 4096, 1.3},
    {"405B", 16384, 126, 128, 8, 128256, 4096, 1.2},
};

}  // namespace

const Flavor* find_flavor(std::string_view name) {
  const auto name_of = [](const Flavor& flavor) { return std::string_view(flavor.name); };
  const Flavor* found = std::ranges::find(kFlavors, name, name_of);
  return found == std::end(kFlavors) ? nullptr : found;
}

ModelDims flavor_dims(const Flavor& flavor, std::optional<std::int64_t> dim, std::optional<std::int64_t> n_heads) {
  ModelDims dims;
  dims.dim = dim.value_or(flavor.dim);
  dims.n_layers = flavor.n_layers;
  dims.n_heads = n_heads.value_or(flavor.n_heads);
  dims.n_kv_heads = n_heads.value_or(flavor.n_kv_heads);
  dims.head_dim = dims.dim / dims.n_heads;
  dims.ffn_dim = ffn_width(dims.dim, flavor.multiple_of, flavor.multiplier);
  dims.vocab_size = flavor.vocab_size;
  return dims;
}

std::int64_t ffn_width(std::int64_t dim, std::int64_t multiple_of, double multiplier) {
  const auto width = static_cast<std::int64_t>(static_cast<double>(8 * dim / 3) * multiplier);
  return (width + multiple_of - 1) / multiple_of * multiple_of;
}

}  // namespace titan::recipe
