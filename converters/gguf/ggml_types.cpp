#include "converters/gguf/ggml_types.h"

#include <algorithm>
#include <cmath>

#include "ckpt/ops/convert_dtype.h"
#include "ckpt/ops/element.h"

namespace titan::convert {
namespace {

using ckpt::DType;

// All arithmetic is in float, in the order of gguf-py's quants.py, so that results are bit-identical.

std::uint32_t byte_at(const std::byte* block, std::size_t at) { return std::to_integer<std::uint32_t>(block[at]); }
float signed_at(const std::byte* block, std::size_t at) {
  return static_cast<float>(static_cast<std::int8_t>(byte_at(block, at)));
}
float half_at(const std::byte* block, std::size_t at) {
  return static_cast<float>(ckpt::element_value(DType::kF16, block + at));
}

// Element i of 32 that are stored as nibbles in 16 bytes, the low nibbles first.
std::uint32_t nibble(const std::byte* quants, std::size_t i) {
  return byte_at(quants, i % 16) >> (i < 16 ? 0U : 4U) & 15U;
}

void q4_0(const std::byte* block, float* out) {
  const float d = half_at(block, 0);
  for (std::size_t i = 0; i < 32; ++i) out[i] = d * (static_cast<float>(nibble(block + 2, i)) - 8.0f);
}

void q4_1(const std::byte* block, float* out) {
  const float d = half_at(block, 0), m = half_at(block, 2);
  for (std::size_t i = 0; i < 32; ++i) out[i] = d * static_cast<float>(nibble(block + 4, i)) + m;
}

// The fifth bits of 32 elements are stored together.
std::uint32_t five_bits(const std::byte* high, const std::byte* quants, std::size_t i) {
  return nibble(quants, i) | (byte_at(high, i / 8) >> (i % 8) & 1U) << 4U;
}

void q5_0(const std::byte* block, float* out) {
  const float d = half_at(block, 0);
  for (std::size_t i = 0; i < 32; ++i) out[i] = d * (static_cast<float>(five_bits(block + 2, block + 6, i)) - 16.0f);
}

void q5_1(const std::byte* block, float* out) {
  const float d = half_at(block, 0), m = half_at(block, 2);
  for (std::size_t i = 0; i < 32; ++i) out[i] = d * static_cast<float>(five_bits(block + 4, block + 8, i)) + m;
}

void decode_q8_0(const std::byte* block, float* out) {
  const float d = half_at(block, 0);
  for (std::size_t i = 0; i < 32; ++i) out[i] = d * signed_at(block, 2 + i);
}

// Element i of 256 that are stored as pairs of bits in 64 bytes. Each group of 32 bytes holds four runs of 32 elements,
// one per bit pair.
std::uint32_t two_bits(const std::byte* quants, std::size_t i) {
  return byte_at(quants, i / 128 * 32 + i % 32) >> (i % 128 / 32 * 2) & 3U;
}

void q2_k(const std::byte* block, float* out) {
  const float d = half_at(block, 80), least = half_at(block, 82);
  for (std::size_t i = 0; i < 256; ++i) {
    const std::uint32_t scale = byte_at(block, i / 16);
    out[i] = d * static_cast<float>(scale & 15U) * static_cast<float>(two_bits(block + 16, i)) -
             least * static_cast<float>(scale >> 4U);
  }
}

void q3_k(const std::byte* block, float* out) {
  const std::byte *high = block, *quants = block + 32, *scales = block + 96;
  const float d = half_at(block, 108);
  for (std::size_t i = 0; i < 256; ++i) {
    const std::size_t j = i / 16;
    const std::uint32_t low = j < 8 ? byte_at(scales, j) & 15U : byte_at(scales, j - 8) >> 4U;
    const std::uint32_t scale = low | (byte_at(scales, 8 + j % 4) >> (2 * (j / 4)) & 3U) << 4U;
    const bool third = (byte_at(high, i % 32) >> (i / 32) & 1U) != 0;
    const float quant = static_cast<float>(two_bits(quants, i)) - (third ? 0.0f : 4.0f);
    out[i] = d * (static_cast<float>(scale) - 32.0f) * quant;
  }
}

struct ScaleAndLeast {
  float scale, least;
};
// Scale and minimum of group j of 8. Each has six bits; all are in 12 bytes.
ScaleAndLeast six_bits(const std::byte* s, std::size_t j) {
  if (j < 4) return {static_cast<float>(byte_at(s, j) & 63U), static_cast<float>(byte_at(s, j + 4) & 63U)};
  const std::uint32_t both = byte_at(s, j + 4);
  return {static_cast<float>((both & 15U) | byte_at(s, j - 4) >> 6U << 4U),
          static_cast<float>(both >> 4U | byte_at(s, j) >> 6U << 4U)};
}

// Decodes a block of Q4_K or, if `high` is not null, of Q5_K.
void with_six_bits(const std::byte* block, const std::byte* high, const std::byte* quants, float* out) {
  const float d = half_at(block, 0), least = half_at(block, 2);
  for (std::size_t i = 0; i < 256; ++i) {
    const std::size_t group = i / 32;
    const ScaleAndLeast of = six_bits(block + 4, group);
    std::uint32_t quant = byte_at(quants, group / 2 * 32 + i % 32) >> (group % 2 * 4) & 15U;
    if (high != nullptr) quant |= (byte_at(high, i % 32) >> group & 1U) << 4U;
    out[i] = d * of.scale * static_cast<float>(quant) - least * of.least;
  }
}

void q4_k(const std::byte* block, float* out) { with_six_bits(block, nullptr, block + 16, out); }
void q5_k(const std::byte* block, float* out) { with_six_bits(block, block + 16, block + 48, out); }

void q6_k(const std::byte* block, float* out) {
  const std::byte *low = block, *high = block + 128;
  const float d = half_at(block, 208);
  for (std::size_t i = 0; i < 256; ++i) {
    const std::size_t half = i / 128, in_half = i % 128;
    const std::uint32_t four = byte_at(low, half * 64 + in_half % 64) >> (in_half / 64 * 4) & 15U;
    const std::uint32_t two = byte_at(high, half * 32 + i % 32) >> (in_half / 32 * 2) & 3U;
    out[i] = d * signed_at(block, 192 + i / 16) * (static_cast<float>(four | two << 4U) - 32.0f);
  }
}

// Values are doubled and the scale is halved, so that all values are integers.
void mxfp4(const std::byte* block, float* out) {
  constexpr float kValues[] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};
  const float scale = std::ldexp(1.0f, static_cast<int>(byte_at(block, 0)) - 128);
  for (std::size_t i = 0; i < 32; ++i) out[i] = scale * kValues[nibble(block + 1, i)];
}

constexpr GgmlType kTypes[] = {
    {0, "F32", 1, 4, DType::kF32, nullptr},  {1, "F16", 1, 2, DType::kF16, nullptr},
    {2, "Q4_0", 32, 18, {}, q4_0},           {3, "Q4_1", 32, 20, {}, q4_1},
    {6, "Q5_0", 32, 22, {}, q5_0},           {7, "Q5_1", 32, 24, {}, q5_1},
    {8, "Q8_0", 32, 34, {}, decode_q8_0},    {10, "Q2_K", 256, 84, {}, q2_k},
    {11, "Q3_K", 256, 110, {}, q3_k},        {12, "Q4_K", 256, 144, {}, q4_k},
    {13, "Q5_K", 256, 176, {}, q5_k},        {14, "Q6_K", 256, 210, {}, q6_k},
    {26, "I32", 1, 4, DType::kI32, nullptr}, {27, "I64", 1, 8, DType::kI64, nullptr},
    {28, "F64", 1, 8, DType::kF64, nullptr}, {30, "BF16", 1, 2, DType::kBF16, nullptr},
    {39, "MXFP4", 32, 17, {}, mxfp4},
};

// Names of ggml's other types, which are not read.
constexpr std::pair<std::uint32_t, const char*> kOthers[] = {
    {4, "Q4_2"},        {5, "Q4_3"},        {9, "Q8_1"},        {15, "Q8_K"},   {16, "IQ2_XXS"},
    {17, "IQ2_XS"},     {18, "IQ3_XXS"},    {19, "IQ1_S"},      {20, "IQ4_NL"}, {21, "IQ3_S"},
    {22, "IQ2_S"},      {23, "IQ4_XS"},     {24, "I8"},         {25, "I16"},    {29, "IQ1_M"},
    {31, "Q4_0_4_4"},   {32, "Q4_0_4_8"},   {33, "Q4_0_8_8"},   {34, "TQ1_0"},  {35, "TQ2_0"},
    {36, "IQ4_NL_4_4"}, {37, "IQ4_NL_4_8"}, {38, "IQ4_NL_8_8"}, {40, "NVFP4"},  {41, "Q1_0"},
};

}  // namespace

const GgmlType* ggml_type(std::uint32_t id) {
  const auto* const at = std::find_if(std::begin(kTypes), std::end(kTypes), [&](const auto& t) { return t.id == id; });
  return at == std::end(kTypes) ? nullptr : at;
}

std::string ggml_type_name(std::uint32_t id) {
  if (const GgmlType* type = ggml_type(id)) return type->name;
  for (const auto& [other, name] : kOthers)
    if (other == id) return name;
  return "type " + std::to_string(id);
}

const GgmlType& plain_type(DType dtype) {
  return *std::find_if(std::begin(kTypes), std::end(kTypes), [&](const auto& type) { return type.plain == dtype; });
}

const GgmlType& q8_0() { return *ggml_type(8); }

void quantise_q8_0(std::span<const float> values, std::span<std::byte> out) {
  constexpr std::size_t kBlock = 32, kBytes = 34;
  for (std::size_t block = 0; block < values.size() / kBlock; ++block) {
    const std::span<const float> in = values.subspan(block * kBlock, kBlock);
    const std::span<std::byte> to = out.subspan(block * kBytes, kBytes);
    float largest = 0;
    for (const float value : in) largest = std::max(largest, std::fabs(value));
    // If the inverse is infinite, the scale itself is 0 as float16.
    const float d = largest / 127.0f, inverse = std::isfinite(1.0f / d) ? 1.0f / d : 0.0f;
    ckpt::convert_elements(DType::kF32, std::as_bytes(std::span(&d, 1)), DType::kF16, to.first(2));
    // Rounds x.5 away from zero, as std::round does.
    for (std::size_t i = 0; i < kBlock; ++i)
      to[2 + i] = static_cast<std::byte>(static_cast<int>(std::round(in[i] * inverse)));
  }
}

}  // namespace titan::convert
