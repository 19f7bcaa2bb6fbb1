#pragma once
// Cuts tensors into runs of leaves: units of work for tools that read many tensors on several threads. Pure.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "ckpt/model/leaf.h"

namespace titan::ckpt {

/// Consecutive leaves of one tensor; `tensor` is its index in a list.
struct TensorRun {
  std::size_t tensor = 0;
  LeafRange leaves;
};

/// Appends the leaves of `grid` in ascending runs of at most `bytes` bytes, but at least one leaf.
inline void append_runs(std::vector<TensorRun>& runs, std::size_t tensor, const LeafGrid& grid,
                        std::uint64_t element_size, std::uint64_t bytes) {
  const std::uint64_t leaves =
      std::max<std::uint64_t>(1, bytes / std::max<std::uint64_t>(1, grid.leaf_elements * element_size));
  for (std::uint64_t first = 0; first < grid.count(); first += leaves)
    runs.push_back({tensor, {first, std::min(leaves, grid.count() - first)}});
}

}  // namespace titan::ckpt
