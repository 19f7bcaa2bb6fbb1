#include "libtrain/job/reduction/tree.h"

namespace titan::train {
namespace {

void collect(Node node, Node block, std::vector<Node>& out) {
  if (node.lo >= block.hi || node.hi <= block.lo) return;
  if (block.contains(node)) {
    out.push_back(node);
    return;
  }
  collect(node.left(), block, out);
  collect(node.right(), block, out);
}

}  // namespace

Node dp_block(std::uint32_t count, std::uint32_t d, std::uint32_t r) {
  Node node{0, count};
  for (; d % 2 == 0; d /= 2) {
    node = r < d / 2 ? node.left() : node.right();
    r %= d / 2;
  }
  const auto border = [&](std::uint64_t rank) {
    return node.lo + static_cast<std::uint32_t>(rank * (node.hi - node.lo) / d);
  };
  return {border(r), border(std::uint64_t{r} + 1)};
}

Share share_per_micro_batch(std::uint32_t count, std::uint32_t d, std::uint32_t together, std::uint32_t r) {
  const Node block = dp_block(count, d / together, r / together);
  const std::uint32_t first = block.lo + r % together;
  return {first, first < block.hi ? (block.hi - first - 1) / together + 1 : 0, together, block};
}

std::vector<Node> maximal_nodes(std::uint32_t count, Node block) {
  std::vector<Node> nodes;
  if (block.lo < block.hi) collect({0, count}, block, nodes);
  return nodes;
}

Node parent(std::uint32_t count, Node node) {
  Node above{0, count};
  while (above != node) {
    const Node below = node.hi <= above.mid() ? above.left() : above.right();
    if (below == node) return above;
    above = below;
  }
  return above;
}

}  // namespace titan::train
