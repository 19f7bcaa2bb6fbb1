#pragma once
// The two orders of the rows of query and key projections. Per head of d rows ours rotates neighbours (2j, 2j + 1),
// Hugging Face's rotates halves (j, j + d/2). Of a weight whole rows move, of a bias elements.
#include <cstdint>

namespace titan::convert {

/// The row in halves' order that is row `row` in neighbours' order.
constexpr std::uint64_t halves_row(std::uint64_t row, std::uint64_t head_dim) {
  const std::uint64_t i = row % head_dim;
  return row - i + i / 2 + i % 2 * (head_dim / 2);
}

/// The reverse.
constexpr std::uint64_t neighbours_row(std::uint64_t row, std::uint64_t head_dim) {
  const std::uint64_t i = row % head_dim, half = head_dim / 2;
  return row - i + i % half * 2 + i / half;
}

}  // namespace titan::convert
