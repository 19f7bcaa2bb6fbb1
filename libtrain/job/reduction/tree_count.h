#pragma once
// How many sums a tree holds while micro-batches are added to it. Pure.
// TreeSum (libtrain/engine/exchange) sums tensors in the same way.
#include <cstddef>
#include <set>

#include "libtrain/job/reduction/tree.h"

namespace titan::train {

class TreeCount {
 public:
  TreeCount(std::uint32_t count, Node block) : count_(count), block_(block) {}

  /// Adds a micro-batch of the block, in any order.
  void insert(std::uint32_t micro_batch) {
    Node node{micro_batch, micro_batch + 1};
    for (Node above = parent(count_, node); above != node && block_.contains(above); above = parent(count_, node)) {
      if (alive_.erase(node == above.left() ? above.right() : above.left()) == 0) break;
      node = above;
    }
    alive_.insert(node);
  }
  std::size_t held() const { return alive_.size(); }

 private:
  std::uint32_t count_;
  Node block_;
  std::set<Node> alive_;
};

}  // namespace titan::train
