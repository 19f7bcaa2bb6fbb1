#include "ckpt/format/byte_shuffle.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace titan::ckpt::byte_shuffle_test {
namespace {

TEST(ByteShuffle, EqualsItsDefinitionAndItsInverse) {
  constexpr std::uint64_t kSeed = 77;
  RecordProperty("seed", std::to_string(kSeed));
  std::mt19937_64 random(kSeed);
  for (const std::size_t size : {1, 2, 4, 8}) {
    for (const std::size_t count : {0, 1, 2, 15, 16, 17, 31, 32, 33, 100, 255, 1000}) {
      for (const std::size_t padding : {0, 1, 16, 37}) {
        const std::size_t stride = count + padding;
        std::vector<std::byte> elements(count * size);
        for (std::byte& byte : elements) byte = static_cast<std::byte>(random());
        std::vector<std::byte> expected(stride * size), planes(stride * size, std::byte{0xEE}), back(count * size);
        for (std::size_t i = 0; i < count; ++i)
          for (std::size_t j = 0; j < size; ++j) expected[j * stride + i] = elements[i * size + j];
        shuffle_bytes(elements, size, stride, planes.data());
        EXPECT_EQ(planes, expected) << size << " bytes, " << count << " elements, stride " << stride;
        unshuffle_bytes(planes.data(), size, stride, back);
        EXPECT_EQ(back, elements) << size << " bytes, " << count << " elements, stride " << stride;
      }
    }
  }
}

}  // namespace
}  // namespace titan::ckpt::byte_shuffle_test
