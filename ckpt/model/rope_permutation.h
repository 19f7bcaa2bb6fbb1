#pragma once
// The two row orders of query and key projections. In each head of d rows, Titan's rotary embedding rotates rows 2j and
// 2j + 1 together (interleaved order), Hugging Face's rows j and j + d/2 (half-split order). Conversion permutes the
// rows of a weight, or the elements of a bias.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "ckpt/base/status.h"

namespace titan::ckpt {

/// Row `row` in interleaved order is row half_split_row(row) in half-split order.
constexpr std::uint64_t half_split_row(std::uint64_t row, std::uint64_t head_dim) {
  const std::uint64_t i = row % head_dim;
  return row - i + i / 2 + i % 2 * (head_dim / 2);
}

/// The inverse of half_split_row().
constexpr std::uint64_t interleaved_row(std::uint64_t row, std::uint64_t head_dim) {
  const std::uint64_t i = row % head_dim, half = head_dim / 2;
  return row - i + i % half * 2 + i / half;
}

/// A tensor in half-split order: rows of `width` elements of `size` bytes each.
struct HalfSplitRows {
  std::uint64_t head_dim = 0, width = 1, size = 4;
};

/// Fills `out` with elements in interleaved order, from element `first` on. `read(element, bytes)` reads from the
/// tensor, which is in half-split order. \error as `read`
template <typename Read>
Status read_interleaved(const HalfSplitRows& rows, std::uint64_t first, std::span<std::byte> out, Read&& read) {
  for (std::uint64_t at = first; !out.empty();) {
    const std::uint64_t row = at / rows.width, column = at % rows.width;
    const std::uint64_t count = std::min<std::uint64_t>(rows.width - column, out.size() / rows.size);
    TITAN_RETURN_IF_ERROR(read(half_split_row(row, rows.head_dim) * rows.width + column, out.first(count * rows.size)));
    out = out.subspan(count * rows.size);
    at += count;
  }
  return ok_status();
}

}  // namespace titan::ckpt
