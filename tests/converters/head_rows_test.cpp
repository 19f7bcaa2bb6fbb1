#include "converters/head_rows.h"

#include <gtest/gtest.h>

#include <vector>

namespace titan::convert::head_rows_test {
namespace {

// Heads of 8: the reference's vectors. (4 is its own inverse and would hide a swapped direction.)
TEST(Rotary, PutsRowsIntoHalvesAndBackAsTheReferenceDoes) {
  std::vector<std::uint64_t> to_halves, to_neighbours;
  for (std::uint64_t row = 0; row < 8; ++row) {
    to_halves.push_back(neighbours_row(row, 8));
    to_neighbours.push_back(halves_row(row, 8));
  }
  EXPECT_EQ(to_halves, (std::vector<std::uint64_t>{0, 2, 4, 6, 1, 3, 5, 7}));
  EXPECT_EQ(to_neighbours, (std::vector<std::uint64_t>{0, 4, 1, 5, 2, 6, 3, 7}));
}

TEST(Rotary, IsItsOwnReverseTheOtherWayAndStaysInsideHeads) {
  for (const std::uint64_t head_dim : {2, 6, 10, 14, 64, 128}) {
    for (std::uint64_t row = 0; row < 3 * head_dim; ++row) {
      EXPECT_EQ(neighbours_row(halves_row(row, head_dim), head_dim), row);
      EXPECT_EQ(halves_row(neighbours_row(row, head_dim), head_dim), row);
      EXPECT_EQ(halves_row(row, head_dim) / head_dim, row / head_dim);
    }
  }
}

}  // namespace
}  // namespace titan::convert::head_rows_test
