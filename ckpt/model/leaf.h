#pragma once
// The leaf grid: every stored tensor, row-major, is cut into leaves of a fixed number of elements (the last leaf may be
// shorter). In a checkpoint the grid depends only on the shape, so a parameter and its slots have the same grid.
// \source FORMAT.md, "Leaves"
#include <cstdint>
#include <span>

#include "ckpt/base/integers.h"

namespace titan::ckpt {

inline constexpr std::uint64_t kDefaultLeafElements = 262'144;

/// Product of the dimensions; 1 for a scalar. Must not overflow: check with checked_elements() first.
std::uint64_t element_count(std::span<const std::uint64_t> shape);
/// As element_count(), but returns false if the product does not fit in 63 bits.
bool checked_elements(std::span<const std::uint64_t> shape, std::uint64_t* count);

/// How a tensor of `elements` elements is cut into leaves.
struct LeafGrid {
  std::uint64_t elements = 0;
  std::uint64_t leaf_elements = kDefaultLeafElements;
  bool operator==(const LeafGrid&) const = default;

  /// Number of leaves; 0 for a tensor without elements.
  std::uint64_t count() const { return ceil_div(elements, leaf_elements); }
  /// First element of leaf `i`; `elements` for i >= count().
  std::uint64_t begin(std::uint64_t i) const {
    std::uint64_t at = 0;  // overflow is checked without a division, which would be slow
    return __builtin_mul_overflow(i, leaf_elements, &at) || at > elements ? elements : at;
  }
  /// Elements of leaf `i`.
  std::uint64_t length(std::uint64_t i) const { return begin(i + 1) - begin(i); }
  /// Elements of an HDF5 chunk: min(leaf, elements of the whole tensor), for every piece.
  std::uint64_t chunk_extent() const { return elements < leaf_elements ? elements : leaf_elements; }
};

/// `count` leaves from `first` on.
struct LeafRange {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
  std::uint64_t end() const { return first + count; }
  bool operator==(const LeafRange&) const = default;
};

}  // namespace titan::ckpt
