#include "recipe/model/flavor.h"

#include <span>

#include "ckpt/base/integers.h"
#include "ckpt/base/text.h"

namespace titan::recipe {
namespace {

constexpr Flavor kFlavors[] = {
    {"debugmodel", 256, 6, 16, 16, 2048, 256, 1.0},
    {"8B", 4096, 32, 32, 8, 128256, 1024, 1.3},
    {"70B", 8192, 80, 64, 8, 128256, 4096, 1.3},
    {"405B", 16384, 126, 128, 8, 128256, 4096, 1.2},
};
constexpr Flavor kQwen3Flavors[] = {
    {"debugmodel", 256, 8, 16, 8, 2048, 0, 0, 3072, 128, true},
    {"0.6B", 1024, 28, 16, 8, 151936, 0, 0, 3072, 128, true},
    {"1.7B", 2048, 28, 16, 8, 151936, 0, 0, 6144, 128, true},
    {"4B", 2560, 36, 32, 8, 151936, 0, 0, 9728, 128, true},
    {"8B", 4096, 36, 32, 8, 151936, 0, 0, 12288, 128, false},
    {"14B", 5120, 40, 40, 8, 151936, 0, 0, 17408, 128, false},
    {"32B", 5120, 64, 64, 8, 151936, 0, 0, 25600, 128, false},
};

std::span<const Flavor> flavors_of(std::string_view family) {
  if (family == kQwen3) return kQwen3Flavors;
  return family == kLlama3 ? std::span<const Flavor>(kFlavors) : std::span<const Flavor>();
}

}  // namespace

const Flavor* find_flavor(std::string_view name, std::string_view family) {
  for (const Flavor& flavor : flavors_of(family))
    if (name == flavor.name) return &flavor;
  return nullptr;
}

std::string flavor_names(std::string_view family) { return ckpt::joined(flavors_of(family), ", ", &Flavor::name); }

const char* family_of(const ModelDims& dims) { return dims.qk_norm && !dims.whole_qk_norm ? kQwen3 : kLlama3; }

ModelDims flavor_dims(const Flavor& flavor, std::optional<std::int64_t> dim, std::optional<std::int64_t> n_heads) {
  ModelDims dims;
  dims.dim = dim.value_or(flavor.dim);
  dims.n_layers = flavor.n_layers;
  dims.n_heads = n_heads.value_or(flavor.n_heads);
  dims.n_kv_heads = n_heads.value_or(flavor.n_kv_heads);
  dims.head_dim = flavor.head_dim != 0 ? flavor.head_dim : dims.dim / dims.n_heads;
  dims.ffn_dim = flavor.ffn_dim != 0 ? flavor.ffn_dim : ffn_width(dims.dim, flavor.multiple_of, flavor.multiplier);
  dims.vocab_size = flavor.vocab_size;
  dims.tied = flavor.tied;
  if (flavor.is_qwen3()) {
    dims.norm_eps = 1e-6;
    dims.rope_theta = 1e6;
    dims.qk_norm = true;
  }
  return dims;
}

std::int64_t ffn_width(std::int64_t dim, std::int64_t multiple_of, double multiplier) {
  const auto width = static_cast<std::int64_t>(static_cast<double>(8 * dim / 3) * multiplier);
  return ckpt::round_up(width, multiple_of);
}

}  // namespace titan::recipe
