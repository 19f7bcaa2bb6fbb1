#include "libtrain/engine/exchange/tree_sum.h"

#include <bit>
#include <iterator>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>

#include <ATen/ATen.h>

#include "libtrain/engine/device/kernels.h"

namespace titan::train {
namespace {

/// A gradient or a sum. `ours`: no other tensor shares its memory, so it may be overwritten.
struct Operand {
  at::Tensor values;
  bool ours = true;
  bool takes_sums() const { return ours && values.scalar_type() == at::kFloat; }
};

/// left + right in fp32, in the memory of one of them if possible.
at::Tensor added(const Operand& left, const Operand& right) {
  if (left.takes_sums()) return left.values.add_(right.values);
  if (!right.takes_sums())
    return left.values.to(left.values.options().dtype(at::kFloat), false, true).add_(right.values);
  at::Tensor sum = right.values;
  return at::add_out(sum, left.values, sum);
}

constexpr std::uint32_t kMostRows = 8;  // maximum number of rows that are added in one pass

/// Divides `node` into the largest nodes whose number of micro-batches is a power of two and at most kMostRows.
void cut(Node node, std::vector<Node>& cuts) {
  const std::uint32_t leaves = node.hi - node.lo;
  if (leaves <= kMostRows && std::has_single_bit(leaves)) return cuts.push_back(node);
  cut(node.left(), cuts);
  cut(node.right(), cuts);
}

}  // namespace

void TreeSum::insert(std::uint32_t micro_batch, at::Tensor grad) {
  insert_node({micro_batch, micro_batch + 1}, std::move(grad));
}

void TreeSum::insert_rows(std::uint32_t first, const std::vector<at::Tensor>& rows) {
  if (rows.empty()) return;
  const Node all{first, first + static_cast<std::uint32_t>(rows.size())};
  if (!block_.contains(all))
    throw std::logic_error("rows of micro-batches up to " + std::to_string(all.hi) + " are not of this rank's block");
  std::vector<Node> cuts;
  for (const Node node : maximal_nodes(count_, all)) cut(node, cuts);
  for (const Node node : cuts) {
    const std::span of_node = std::span(rows).subspan(node.lo - first, node.hi - node.lo);
    insert_node(node, of_node.size() == 1 ? of_node.front() : kernels().add_rows(of_node));
  }
}

void TreeSum::insert_node(Node node, at::Tensor values) {
  const std::uint32_t leaves = node.hi - node.lo;
  if (!block_.contains(node))
    throw std::logic_error("micro-batch " + std::to_string(node.lo) + " is not of this rank's block");
  if (!nodes_.empty()) {
    const auto next = nodes_.upper_bound({node.lo, count_ + 1});
    const bool within = next != nodes_.begin() && std::prev(next)->first.contains(node);
    if (within || (next != nodes_.end() && node.contains(next->first)))
      throw std::logic_error("micro-batch " + std::to_string(node.lo) + " was inserted twice");
  }
  Operand sum{values.detach().contiguous()};
  values.reset();
  // Others may use the memory: autograd may return one tensor as the gradient of two inputs or keep it, and a row may
  // be a part of a buffer.
  sum.ours = sum.values.storage().use_count() == 1;
  for (Node above = parent(count_, node); above != node && block_.contains(above); above = parent(count_, node)) {
    const bool is_left = node == above.left();
    const auto sibling = nodes_.find(is_left ? above.right() : above.left());
    if (sibling == nodes_.end()) break;
    const Operand other{std::move(sibling->second)};
    nodes_.erase(sibling);
    sum = {is_left ? added(sum, other) : added(other, sum)};
    node = above;
  }
  nodes_.emplace(node, sum.ours ? std::move(sum.values) : sum.values.clone());
  inserted_ += leaves;
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
    partials.push_back(found->second.to(at::kFloat));
  }
  nodes_.clear();
  inserted_ = 0;
  return partials;
}

}  // namespace titan::train
