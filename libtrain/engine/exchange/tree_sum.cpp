#include "libtrain/engine/exchange/tree_sum.h"

#include <iterator>
#include <stdexcept>
#include <string>
#include <utility>

#include <ATen/ATen.h>

namespace titan::train {

void TreeSum::insert(std::uint32_t micro_batch, at::Tensor grad) {
  Node node{micro_batch, micro_batch + 1};
  if (!block_.contains(node))
    throw std::logic_error("micro-batch " + std::to_string(micro_batch) + " is not of this rank's block");
  if (!nodes_.empty()) {
    const auto next = nodes_.upper_bound({micro_batch, count_ + 1});
    if (next != nodes_.begin() && std::prev(next)->first.contains(node))
      throw std::logic_error("micro-batch " + std::to_string(micro_batch) + " was inserted twice");
  }
  at::Tensor sum = grad.detach().to(at::kFloat).contiguous();
  grad.reset();
  // Autograd may hand out one tensor as the gradient of two inputs, or keep it; sums are added up in place.
  if (sum.storage().use_count() > 1) sum = sum.clone();
  for (Node above = parent(count_, node); above != node && block_.contains(above); above = parent(count_, node)) {
    const bool is_left = node == above.left();
    const auto sibling = nodes_.find(is_left ? above.right() : above.left());
    if (sibling == nodes_.end()) break;
    sum = is_left ? sum.add_(sibling->second) : sibling->second.add_(sum);
    nodes_.erase(sibling);
    node = above;
  }
  nodes_.emplace(node, std::move(sum));
  ++inserted_;
}

at::Tensor TreeSum::take(std::uint32_t micro_batch) {
  const auto node = nodes_.extract({micro_batch, micro_batch + 1});
  if (node.empty()) throw std::logic_error("no gradient of micro-batch " + std::to_string(micro_batch) + " alone");
  --inserted_;
  return std::move(node.mapped());
}

std::vector<at::Tensor> TreeSum::finish() {
  std::vector<at::Tensor> partials;
  for (const Node node : maximal_nodes(count_, block_)) {
    const auto found = nodes_.find(node);
    if (found == nodes_.end())
      throw std::logic_error("no sum for micro-batches [" + std::to_string(node.lo) + ", " + std::to_string(node.hi) +
                             "): one is missing");
    partials.push_back(std::move(found->second));
  }
  nodes_.clear();
  inserted_ = 0;
  return partials;
}

}  // namespace titan::train
