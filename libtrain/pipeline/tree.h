#pragma once
// The canonical sum: a fixed binary tree over the global micro-batch index 0..M-1, by recursive bisection. Pure part.
// \source architecture: node [lo,hi) = node [lo,mid) + node [mid,hi), mid = lo + floor((hi-lo)/2)
#include <cstdint>
#include <vector>

namespace titan::train {

struct Node {
  std::uint32_t lo = 0, hi = 0;
  auto operator<=>(const Node&) const = default;
};

/// Micro-batches of DP rank `r` of `d`: [floor(r*M/d), floor((r+1)*M/d)).
Node dp_block(std::uint32_t count, std::uint32_t d, std::uint32_t r);
/// The maximal tree nodes inside `block`, in order.
std::vector<Node> maximal_nodes(std::uint32_t count, Node block);

}  // namespace titan::train
