#include "converters/pickle/crc32.h"

#include <gtest/gtest.h>

#include <random>
#include <string_view>
#include <vector>

namespace titan::convert::crc32_test {
namespace {

TEST(Crc32, GivesTheKnownCheckValue) {
  constexpr std::string_view text = "123456789";
  EXPECT_EQ(crc32(0, std::as_bytes(std::span(text))), 0xcbf43926u);
}

TEST(Crc32, AgreesWithZlibForEveryLengthStartAndPiece) {
  const std::uint32_t seed = 5;
  std::mt19937 random(seed);
  std::vector<std::byte> data(70'000);
  for (std::byte& byte : data) byte = static_cast<std::byte>(random());
  for (std::size_t length = 0; length < 400; ++length) {
    const std::size_t start = random() % 64;
    const auto start_crc = static_cast<std::uint32_t>(random());
    const auto part = std::span<const std::byte>(data).subspan(start, length);
    ASSERT_EQ(crc32(start_crc, part), crc32_by_tables(start_crc, part))
        << "length " << length << " start " << start << " seed " << seed;
  }
  for (int round = 0; round < 50; ++round) {
    std::uint32_t crc = 0;
    for (std::size_t at = 0; at < data.size();) {
      const std::size_t count = std::min<std::size_t>(1 + random() % 9000, data.size() - at);
      crc = crc32(crc, std::span<const std::byte>(data).subspan(at, count));
      at += count;
    }
    ASSERT_EQ(crc, crc32_by_tables(0, data)) << "seed " << seed << " round " << round;
  }
}

}  // namespace
}  // namespace titan::convert::crc32_test
