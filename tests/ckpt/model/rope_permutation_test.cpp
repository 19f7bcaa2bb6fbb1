#include "ckpt/model/rope_permutation.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace titan::ckpt::rope_permutation_test {
namespace {

// Heads of 8: the reference's vectors. (4 is its own inverse and would hide a swapped direction.)
TEST(Rotary, PutsRowsIntoHalvesAndBackAsTheReferenceDoes) {
  std::vector<std::uint64_t> to_halves, to_neighbours;
  for (std::uint64_t row = 0; row < 8; ++row) {
    to_halves.push_back(interleaved_row(row, 8));
    to_neighbours.push_back(half_split_row(row, 8));
  }
  EXPECT_EQ(to_halves, (std::vector<std::uint64_t>{0, 2, 4, 6, 1, 3, 5, 7}));
  EXPECT_EQ(to_neighbours, (std::vector<std::uint64_t>{0, 4, 1, 5, 2, 6, 3, 7}));
}

TEST(Rotary, IsItsOwnReverseTheOtherWayAndStaysInsideHeads) {
  for (const std::uint64_t head_dim : {2, 6, 10, 14, 64, 128}) {
    for (std::uint64_t row = 0; row < 3 * head_dim; ++row) {
      EXPECT_EQ(interleaved_row(half_split_row(row, head_dim), head_dim), row);
      EXPECT_EQ(half_split_row(interleaved_row(row, head_dim), head_dim), row);
      EXPECT_EQ(half_split_row(row, head_dim) / head_dim, row / head_dim);
    }
  }
}

TEST(Rotary, ReadsAnyRangeOfRowsInTheOtherOrder) {
  // Two heads of 4 rows of 3 bytes: row r is "rrr".
  const auto stored = [](std::uint64_t element) { return std::byte(static_cast<unsigned char>('0' + element / 3)); };
  const auto read = [&](std::uint64_t first, std::span<std::byte> out) {
    for (std::byte& byte : out) byte = stored(first++);
    return ok_status();
  };
  std::string whole;
  for (const char row : std::string("02134657")) whole += std::string(3, row);
  for (std::size_t first = 0; first < whole.size(); ++first) {
    for (std::size_t end = first; end <= whole.size(); ++end) {
      std::string part(end - first, ' ');
      ASSERT_TRUE(read_interleaved({4, 3, 1}, first, std::as_writable_bytes(std::span(part)), read).ok());
      EXPECT_EQ(part, whole.substr(first, end - first));
    }
  }
}

}  // namespace
}  // namespace titan::ckpt::rope_permutation_test
