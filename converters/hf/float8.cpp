#include "converters/hf/float8.h"

#include <cmath>
#include <limits>

namespace titan::convert {
namespace {

constexpr std::uint64_t kMaxBlock = std::uint64_t{1} << 20;

float e4m3(unsigned bits) {
  const unsigned exponent = bits >> 3U & 15U, fraction = bits & 7U;
  float value = exponent == 0 ? std::ldexp(static_cast<float>(fraction), -9)
                              : std::ldexp(static_cast<float>(8 + fraction), static_cast<int>(exponent) - 10);
  if (exponent == 15 && fraction == 7) value = std::numeric_limits<float>::quiet_NaN();
  return (bits & 128U) != 0 ? -value : value;
}

}  // namespace

ckpt::Result<BlockSize> read_block_size(const std::string& what, const JsonValue& config) {
  const JsonValue* quantized = config.is_object() ? config.find("quantization_config") : nullptr;
  if (quantized == nullptr || !quantized->is_object())
    return ckpt::incompatible(what + " has no quantization_config, which says the blocks of the weights in F8_E4M3")
        .with_hint("take config.json from where the weights came from");
  const JsonValue* method = quantized->find("quant_method");
  if (method == nullptr || method->text() == nullptr || *method->text() != "fp8")
    return ckpt::unsupported(what + ": weights in F8_E4M3 are read where quant_method is \"fp8\"");
  const JsonValue* size = quantized->find("weight_block_size");
  const auto part = [&](std::size_t i) -> std::uint64_t {
    return size == nullptr || size->items().size() != 2 ? 0 : size->items()[i].as_u64().value_or(0);
  };
  const BlockSize blocks{part(0), part(1)};
  if (blocks.rows == 0 || blocks.columns == 0 || blocks.rows > kMaxBlock || blocks.columns > kMaxBlock)
    return ckpt::unsupported(what + ": weights in F8_E4M3 are read where weight_block_size is two numbers up to " +
                             std::to_string(kMaxBlock));
  return blocks;
}

const std::array<float, 256>& e4m3_values() {
  static const std::array<float, 256> values = [] {
    std::array<float, 256> table{};
    for (unsigned i = 0; i < table.size(); ++i) table[i] = e4m3(i);
    return table;
  }();
  return values;
}

void scale_row(std::span<const std::byte> bytes, std::uint64_t first, std::span<const float> scales,
               std::uint64_t columns, std::span<float> out) {
  const std::array<float, 256>& values = e4m3_values();
  for (std::size_t i = 0; i < bytes.size(); ++i)
    out[i] = values[std::to_integer<std::size_t>(bytes[i])] * scales[(first + i) / columns];
}

}  // namespace titan::convert
