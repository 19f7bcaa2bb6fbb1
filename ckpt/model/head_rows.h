#pragma once
// The two orders of the rows of query and key projections. Per head of d rows ours rotates neighbours (2j, 2j + 1),
// Hugging Face's rotates halves (j, j + d/2). Of a weight whole rows move, of a bias elements.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "ckpt/base/status.h"

namespace titan::ckpt {

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

/// A tensor of rows of `width` elements of `size` bytes each, whose rows lie in halves' order.
struct HalvesRows {
  std::uint64_t head_dim = 0, width = 1, size = 4;
};

/// Fills `out` with elements from `first` on in neighbours' order. `read(element, bytes)` reads from the tensor as it
/// lies. \error those of `read`
template <typename Read>
Status read_as_neighbours(const HalvesRows& rows, std::uint64_t first, std::span<std::byte> out, Read&& read) {
  for (std::uint64_t at = first; !out.empty();) {
    const std::uint64_t row = at / rows.width, column = at % rows.width;
    const std::uint64_t count = std::min<std::uint64_t>(rows.width - column, out.size() / rows.size);
    TITAN_RETURN_IF_ERROR(read(halves_row(row, rows.head_dim) * rows.width + column, out.first(count * rows.size)));
    out = out.subspan(count * rows.size);
    at += count;
  }
  return ok_status();
}

}  // namespace titan::ckpt
