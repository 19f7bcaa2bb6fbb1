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

std::uint64_t ffn_width(std::uint64_t dim, std::uint64_t multiple_of, double multiplier) {
  const auto width = static_cast<std::uint64_t>(static_cast<double>(8 * dim / 3) * multiplier);
  return (width + multiple_of - 1) / multiple_of * multiple_of;
}

}  // namespace titan::recipe
