#pragma once
// Canonical gradient sums over the micro-batches of one rank, as tensors. gradient_exchange.h sums over ranks.
#include <cstdint>
#include <map>
#include <vector>

#include <ATen/core/Tensor.h>

#include "libtrain/job/reduction/tree.h"

namespace titan::train {

/// Sums the gradients of one slot as micro-batches finish, in any order: insert() merges upward while the sibling is
/// present. Sums are fp32. A gradient that has not been added to another keeps its type: bf16 takes half the memory,
/// and converting it to fp32 later is exact.
class TreeSum {
 public:
  TreeSum(std::uint32_t count, Node block) : count_(count), block_(block) {}
  /// `grad` is consumed: its storage is reused if nothing else holds it; otherwise it is copied only if it must be
  /// kept. \error std::logic_error if the micro-batch is outside the block or was inserted before
  void insert(std::uint32_t micro_batch, at::Tensor grad);
  /// Inserts consecutive micro-batches from `first` on, one row each. Subtrees of 2, 4 or 8 micro-batches are added in
  /// one pass.
  void insert_rows(std::uint32_t first, const std::vector<at::Tensor>& rows);
  /// The partial sums (fp32) of the block's maximal nodes, in order; the object is empty afterwards. \error
  /// std::logic_error unless every micro-batch of the block was inserted
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
