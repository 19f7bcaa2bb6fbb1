// Blocks of quantised elements. The values and digests are those of gguf-py 0.19.0 (tests/interop/gguf_both_ways.py
// compares random blocks with it).
#include "converters/gguf/ggml_types.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ckpt/base/hash.h"

namespace titan::convert::ggml_types_test {
namespace {

struct Vector {
  std::uint32_t id;
  std::vector<std::pair<std::size_t, int>> bytes;  // beside the pattern
  std::vector<float> first;
};

// d is 0.09997558..., m -0.75, dmin 0.04998779...
const Vector kVectors[] = {
    {2,
     {{0, 0x66}, {1, 0x2e}},
     {-0.299926758f, 0.199951172f, 0.699829102f, -0.399902344f, 0.0999755859f, 0.599853516f, -0.49987793f, 0}},
    {3,
     {{0, 0x66}, {1, 0x2e}, {2, 0x00}, {3, 0xba}},
     {0.749633789f, -0.350097656f, 0.149780273f, 0.649658203f, -0.450073242f, 0.0498046875f, 0.549682617f,
      -0.550048828f}},
    {6,
     {{0, 0x66}, {1, 0x2e}},
     {0.899780273f, -0.199951172f, 0.299926758f, -0.799804688f, 1.29968262f, -1.3996582f, 0.699829102f, -0.399902344f}},
    {7,
     {{0, 0x66}, {1, 0x2e}, {2, 0x00}, {3, 0xba}},
     {1.14953613f, 1.64941406f, 2.14929199f, 1.04956055f, 1.54943848f, 0.449707031f, -0.650024414f, 1.44946289f}},
    {8,
     {{0, 0x66}, {1, 0x2e}},
     {8.4979248f, 12.1970215f, -9.69763184f, -5.99853516f, -2.29943848f, 1.3996582f, 5.09875488f, 8.79785156f}},
    {10,
     {{80, 0x66}, {81, 0x2e}, {82, 0x66}, {83, 0x2a}},
     {3.29919434f, 0, 1.09973145f, 2.19946289f, 3.29919434f, 0, 1.09973145f, 2.19946289f}},
    {11,
     {{108, 0x66}, {109, 0x2e}},
     {8.09802246f, -10.7973633f, 2.69934082f, -5.39868164f, 8.09802246f, -10.7973633f, 2.69934082f, -5.39868164f}},
    {12,
     {{0, 0x66}, {1, 0x2e}, {2, 0x66}, {3, 0x2a}},
     {31.5422974f, -2.54937744f, 12.9468384f, 28.4430542f, 43.93927f, 9.84759521f, 25.343811f, 40.8400269f}},
    {13,
     {{0, 0x66}, {1, 0x2e}, {2, 0x66}, {3, 0x2a}},
     {81.130188f, -2.54937744f, 62.534729f, 28.4430542f, 93.5271606f, 9.84759521f, 74.9317017f, 40.8400269f}},
    {14,
     {{208, 0x66}, {209, 0x2e}},
     {-143.065063f, 169.558594f, 58.2857666f, -52.9870605f, -164.259888f, 148.36377f, 37.0909424f, -74.1818848f}},
    {39, {{0, 0x7e}}, {0, 1.5f, -0.5f, -3, 1, -0.25f, -2, 0.75f}},
};

std::vector<float> decoded(const Vector& vector) {
  const GgmlType& type = *ggml_type(vector.id);
  std::vector<std::byte> block(type.bytes);
  for (std::size_t i = 0; i < block.size(); ++i) block[i] = static_cast<std::byte>((37 * i + 11) % 256);
  for (const auto& [at, value] : vector.bytes) block[at] = static_cast<std::byte>(value);
  std::vector<float> values(type.elements);
  type.decode(block.data(), values.data());
  return values;
}

TEST(GgmlTypes, BlocksHaveTheValuesOfGgufPy) {
  std::string digests;
  for (const Vector& vector : kVectors) {
    const std::vector<float> values = decoded(vector);
    for (std::size_t i = 0; i < vector.first.size(); ++i)
      EXPECT_EQ(values[i], vector.first[i]) << ggml_type_name(vector.id) << " " << i;
    digests += ggml_type_name(vector.id) + " " + ckpt::digest_of(std::as_bytes(std::span(values))).hex() + "\n";
  }
  EXPECT_EQ(digests,
            "Q4_0 b99d710241f9dbf144f06affe0e2b481\n"
            "Q4_1 53953fb2632d517c1afedaf17a3ab618\n"
            "Q5_0 9d3f4a3d13f67203ab99c759c97eeb3a\n"
            "Q5_1 28ff3b0e02050da067dc39b2c52da9e2\n"
            "Q8_0 cff80d4df930123384df2a39b73580dd\n"
            "Q2_K 6d7bc5a3562944c280864b4333dd512c\n"
            "Q3_K cd0c1dc335dfb353ee11e1a14fd33bda\n"
            "Q4_K ae4fa4531b30985e6c966f9852565b21\n"
            "Q5_K 10ec4ba020904bb58b8f107058d498b2\n"
            "Q6_K 604cf219e353b7a1f2f89ac9e77c9af5\n"
            "MXFP4 cfdf06862586b5f49658e07c1423fe33\n");
}

TEST(GgmlTypes, EveryTypeHasAName) {
  EXPECT_EQ(ggml_type_name(12), "Q4_K");
  EXPECT_EQ(ggml_type_name(20), "IQ4_NL");
  EXPECT_EQ(ggml_type(20), nullptr);
  EXPECT_EQ(ggml_type_name(99), "type 99");
  EXPECT_EQ(plain_type(ckpt::DType::kBF16).id, 30u);
}

std::string hex(std::span<const std::byte> bytes) {
  std::string out;
  for (const std::byte b : bytes) {
    constexpr const char* kDigits = "0123456789abcdef";
    out += kDigits[std::to_integer<unsigned>(b) >> 4];
    out += kDigits[std::to_integer<unsigned>(b) & 15];
  }
  return out;
}

TEST(GgmlTypes, Q80IsWrittenAsGgufPyWritesIt) {
  std::vector<float> values;
  for (int i = 0; i < 32; ++i) values.push_back(static_cast<float>(i - 16) / 7.0f);
  std::vector<std::byte> block(34);
  quantise_q8_0(values, block);
  EXPECT_EQ(hex(block), "9c2481899199a1a9b1b9c0c8d0d8e0e8f0f8000810182028303840474f575f676f77");
}

TEST(GgmlTypes, Q80OfNothingAndOfTheLeastNumbersIsZero) {
  for (const float value : {0.0f, std::numeric_limits<float>::denorm_min(), 1e-39f}) {
    std::vector<float> values(64, value);
    std::vector<std::byte> blocks(68, std::byte{1});
    quantise_q8_0(values, blocks);
    EXPECT_EQ(hex(std::span(blocks).first(2)), "0000");
    if (value == 0) {
      EXPECT_EQ(hex(blocks), std::string(136, '0'));
    }
  }
}

}  // namespace
}  // namespace titan::convert::ggml_types_test
