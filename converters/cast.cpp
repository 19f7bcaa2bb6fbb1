#include "converters/cast.h"

#include <bit>
#include <cassert>
#include <cstdint>
#include <cstring>

namespace titan::convert {
namespace {

using ckpt::DType;

float widen_f16(std::uint16_t bits) {
  const std::uint32_t sign = std::uint32_t{bits} >> 15 << 31, exponent = bits >> 10 & 0x1f, fraction = bits & 0x3ff;
  if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000 | fraction << 13);
  if (exponent != 0) return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
  const float small = static_cast<float>(fraction) * 0x1p-24f;  // exact
  return sign != 0 ? -small : small;
}

std::uint16_t round_bf16(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffff) > 0x7f800000) return static_cast<std::uint16_t>(bits >> 16 | 0x40);  // a NaN whose payload may vanish
  return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

std::uint16_t round_f16(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value), size = bits & 0x7fffffff;
  const auto sign = static_cast<std::uint16_t>(bits >> 31 << 15);
  if (size > 0x7f800000) return static_cast<std::uint16_t>(sign | 0x7e00 | (size >> 13 & 0x3ff));
  if (size >= 0x47800000) return sign | 0x7c00;  // 65536 and more
  if (size < 0x38800000) {                       // below the smallest normal number: a multiple of 2^-24
    // Adding a half of the target's unit in the last place lets the hardware round to even.
    const float shifted = std::bit_cast<float>(size) + 0.5f;
    return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(shifted) - std::bit_cast<std::uint32_t>(0.5f)));
  }
  const std::uint32_t rounded = size + 0xfff + (size >> 13 & 1);
  return static_cast<std::uint16_t>(sign | ((rounded >> 13) - (112 << 10)));
}

template <typename T>
T load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

float widened(DType from, const std::byte* at) {
  if (from == DType::kF32) return load<float>(at);
  const auto bits = load<std::uint16_t>(at);
  return from == DType::kBF16 ? std::bit_cast<float>(std::uint32_t{bits} << 16) : widen_f16(bits);
}

template <DType from, DType to>
void cast_all(std::span<const std::byte> in, std::span<std::byte> out) {
  constexpr std::size_t kFrom = from == DType::kF32 ? 4 : 2, kTo = to == DType::kF32 ? 4 : 2;
  for (std::size_t i = 0, count = in.size() / kFrom; i < count; ++i) {
    const float value = widened(from, &in[i * kFrom]);
    if constexpr (to == DType::kF32) {
      std::memcpy(&out[i * kTo], &value, kTo);
    } else {
      const std::uint16_t bits = to == DType::kBF16 ? round_bf16(value) : round_f16(value);
      std::memcpy(&out[i * kTo], &bits, kTo);
    }
  }
}

template <DType from>
void cast_from(std::span<const std::byte> in, DType to, std::span<std::byte> out) {
  switch (to) {
    case DType::kBF16: return cast_all<from, DType::kBF16>(in, out);
    case DType::kF16: return cast_all<from, DType::kF16>(in, out);
    default: return cast_all<from, DType::kF32>(in, out);
  }
}

}  // namespace

bool is_castable(DType dtype) { return dtype == DType::kF32 || dtype == DType::kBF16 || dtype == DType::kF16; }

void cast(DType from, std::span<const std::byte> in, DType to, std::span<std::byte> out) {
  assert(is_castable(from) && is_castable(to));
  if (from == to) {
    std::memcpy(out.data(), in.data(), in.size());
    return;
  }
  switch (from) {
    case DType::kBF16: return cast_from<DType::kBF16>(in, to, out);
    case DType::kF16: return cast_from<DType::kF16>(in, to, out);
    default: return cast_from<DType::kF32>(in, to, out);
  }
}

}  // namespace titan::convert
