#include "tests/support/bulk_values.h"

#include <algorithm>
#include <cmath>

namespace titan::ckpt::testing {
namespace {

constexpr std::uint64_t kStep = 0x9e3779b97f4a7c15;

std::uint64_t key_of(std::uint64_t seed, const std::string& name, std::uint64_t leaf) {
  std::uint64_t key = seed * kStep;
  for (const char c : name) key = (key ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return (key ^ leaf) * 0xd6e8feb86659fd93;
}

// One multiplication of a counter; good enough for bytes that no compressor sees through.
std::uint64_t mixed(std::uint64_t counter) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(counter) * (counter ^ 0xe7037ed1a0b428db);
  return static_cast<std::uint64_t>(product >> 64) ^ static_cast<std::uint64_t>(product);
}

// The sum of four uniform numbers is close to a normal one; its standard deviation is 1 here.
float normal(std::uint64_t bits) {
  const auto part = [&](int shift) { return static_cast<std::int32_t>(bits >> shift & 0xffff); };
  constexpr float kScale = 1.7320508f / 65536.0f;
  return static_cast<float>(part(0) + part(16) + part(32) + part(48) - 131070) * kScale;
}

// What converters ask of a checkpoint: the model's dimensions and the optimizer's settings.
Settings complete_config(const Synthetic& options) {
  const std::string heads = std::to_string(options.dim / 64);
  return {
      {"model.dim", std::to_string(options.dim)},
      {"model.ffn_dim", std::to_string(options.ffn)},
      {"model.head_dim", "64"},
      {"model.n_heads", heads},
      {"model.n_kv_heads", heads},
      {"model.n_layers", std::to_string(options.layers)},
      {"model.norm_eps", "1e-05"},
      {"model.rope_theta", "500000.0"},
      {"model.vocab_size", std::to_string(options.vocab)},
      {"optimizer.beta1", "0.9"},
      {"optimizer.beta2", "0.95"},
      {"optimizer.eps", "1e-08"},
      {"optimizer.lr", "0.001"},
      {"optimizer.weight_decay", "0.1"},
      {"training.steps", "100"},
  };
}

}  // namespace

Status fill_size(Synthetic& options, std::uint64_t bytes) {
  // Depth and width grow together (64 per layer), as they do in the Llama family; 12 d^2 parameters a layer.
  const std::uint64_t of_parameter = 4 * (1 + options.slots.size());
  const double parameters = static_cast<double>(bytes) / static_cast<double>(of_parameter);
  const auto dim = static_cast<std::uint64_t>(std::cbrt(parameters * 64 / 12) / 64) * 64;
  if (dim == 0) return invalid("--size is less than one small layer needs: give at least 1M");
  options.dim = dim;
  options.ffn = (dim * 8 / 3 + 63) / 64 * 64;
  const std::uint64_t layer = 4 * dim * dim + 3 * dim * options.ffn + 2 * dim, all = bytes / of_parameter;
  options.layers = static_cast<std::uint32_t>(std::max<std::uint64_t>(1, all / 100 * 88 / layer));
  const std::uint64_t used = options.layers * layer;
  options.vocab = std::max<std::uint64_t>(64, (all > used ? all - used : 0) / (2 * dim));
  options.leaf_elements = kDefaultLeafElements;
  options.values = Values::kNormal;
  options.config = complete_config(options);
  return ok_status();
}

void bulk_values(std::uint64_t seed, const std::string& name, const std::string& slot, std::uint64_t leaf,
                 std::span<float> out) {
  std::uint64_t counter = key_of(seed, name + "." + slot, leaf);
  const float scale = slot.empty() ? 0.02f : 1e-3f;
  for (float& value : out) {
    value = normal(mixed(counter)) * scale;
    counter += kStep;
  }
  if (slot == kExpAvgSq)
    for (float& value : out) value *= value;
}

Result<std::span<const std::byte>> BulkSource::leaf(const TensorRef& ref, std::uint64_t leaf,
                                                    std::span<std::byte> scratch) {
  const ParameterMeta& meta = parameters_[ref.index];
  const std::span<std::byte> bytes = scratch.first(meta.grid(options_.leaf_elements).length(leaf) * sizeof(float));
  bulk_values(options_.seed, meta.name, ref.slot, leaf,
              {reinterpret_cast<float*>(bytes.data()), bytes.size() / sizeof(float)});
  return std::span<const std::byte>(bytes);
}

}  // namespace titan::ckpt::testing
