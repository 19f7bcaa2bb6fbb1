#pragma once
// The canonical sum of gradients: a fixed binary tree over the global micro-batch index 0..M-1, by recursive bisection.
// The sum of node [lo, hi) is that of [lo, mid) plus that of [mid, hi), with mid = lo + floor((hi - lo) / 2). This
// fixes the order of additions, so the bits of the sum do not depend on the number of ranks. Pure: no tensors.
#include <cstdint>
#include <vector>

namespace titan::train {

struct Node {
  std::uint32_t lo = 0, hi = 0;
  auto operator<=>(const Node&) const = default;
  bool contains(Node other) const { return lo <= other.lo && other.hi <= hi; }
  std::uint32_t mid() const { return lo + (hi - lo) / 2; }
  Node left() const { return {lo, mid()}; }
  Node right() const { return {mid(), hi}; }
};

/// The micro-batches of DP rank `r` of `d`, of `count` in all. Ranks differ by at most one micro-batch. The function
/// begins at the root of the tree, [0, count). While d is even, it takes a child of the node: the left child for
/// the first half of the ranks, the right one for the others; d is halved, and r counts within the half. Once d is odd,
/// the n micro-batches [lo, lo + n) of the node that is left are divided: rank r has [lo + floor(r * n / d), lo +
/// floor((r + 1) * n / d)). With d = 1, which is reached if d was a power of two, this is the whole node.
Node dp_block(std::uint32_t count, std::uint32_t d, std::uint32_t r);
/// The micro-batches of one rank in its order: number i is first + i * stride. All are within `block`.
struct Share {
  std::uint32_t first = 0, count = 0, stride = 1;
  Node block;
  std::uint32_t at(std::uint32_t i) const { return first + i * stride; }
  bool operator==(const Share&) const = default;
};
/// The share of DP rank `r` of `d`. At a time, `together` neighbouring ranks compute as many consecutive micro-batches,
/// one each; `together` divides d. Example: with `together` = 2, ranks 0 and 1 compute micro-batches 0 and 1, then 2
/// and 3. With 1, a rank has its dp_block(). Bits do not depend on which rank computes a micro-batch.
Share share_per_micro_batch(std::uint32_t count, std::uint32_t d, std::uint32_t together, std::uint32_t r);
/// The maximal tree nodes inside `block`, in order.
std::vector<Node> maximal_nodes(std::uint32_t count, Node block);
/// The parent of `node` in the tree over 0..count-1. `node` must be a node of the tree; the root is its own parent.
Node parent(std::uint32_t count, Node node);

}  // namespace titan::train
