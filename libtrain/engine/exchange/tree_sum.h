#pragma once
// Canonical gradient sums over the micro-batches of one rank: gradients are added along a fixed binary tree
// (libtrain/job/reduction/tree.h). gradient_exchange.h continues the tree over the ranks.
#include <cstdint>
#include <map>
#include <vector>

#include <ATen/core/Tensor.h>

#include "libtrain/job/reduction/tree.h"

namespace titan::train {

/// Sums the gradients of one tensor. Micro-batches may be inserted in any order: two sums are added as soon as both
/// children of a tree node are there. Sums are fp32. A gradient that has not been added to another keeps its type: bf16
/// takes half the memory, and its conversion to fp32 is exact.
class TreeSum {
 public:
  /// Sums the micro-batches of `block`, a range of the step's `count` micro-batches.
  TreeSum(std::uint32_t count, Node block) : count_(count), block_(block) {}
  /// Adds the gradient of a micro-batch. If the sibling of the micro-batch in the tree is there, their sum replaces it.
  /// Otherwise `grad` is kept until the sibling is inserted: the tensor itself if nothing else holds its storage, else
  /// a copy. \error std::logic_error if the micro-batch is outside the block or was inserted before
  void insert(std::uint32_t micro_batch, at::Tensor grad);
  /// Adds the gradients of consecutive micro-batches from `first` on, one row each. Rows of a subtree of 2, 4 or 8
  /// micro-batches are added in one pass. \error as insert()
  void insert_rows(std::uint32_t first, const std::vector<at::Tensor>& rows);
  /// Returns the sums (fp32) of the block's maximal nodes, in order: the largest tree nodes all of whose micro-batches
  /// are in the block. The object is empty afterwards. \error std::logic_error unless complete()
  std::vector<at::Tensor> finish();
  /// Whether every micro-batch of the block was inserted, so that finish() may be called.
  bool complete() const { return inserted_ == block_.hi - block_.lo; }
  /// Whether take(micro_batch) would succeed.
  bool has(std::uint32_t micro_batch) const { return nodes_.contains({micro_batch, micro_batch + 1}); }
  /// Removes and returns the gradient of a micro-batch that has not been added to its sibling, in the type it came in.
  /// \error std::logic_error if it has been added
  at::Tensor take(std::uint32_t micro_batch);
  /// The number of tensors held at present.
  std::size_t held() const { return nodes_.size(); }

 private:
  void insert_node(Node node, at::Tensor values);

  std::uint32_t count_;
  Node block_;
  std::uint32_t inserted_ = 0;
  std::map<Node, at::Tensor> nodes_;
};

}  // namespace titan::train
