#pragma once
// Canonical gradient sums over the micro-batches of a rank, as tensors. Over ranks: gradient_exchange.h.
#include <cstdint>
#include <map>
#include <vector>

#include <ATen/core/Tensor.h>

#include "libtrain/job/order/tree.h"

namespace titan::train {

/// Merges the gradients of one slot as micro-batches finish, in any order: insert() merges upward while the sibling is
/// present. Sums are fp32; a gradient that is alone stays as it came (bf16 is half the memory), for a bf16 value that
/// is added to fp32 counts exactly.
class TreeSum {
 public:
  TreeSum(std::uint32_t count, Node block) : count_(count), block_(block) {}
  /// `grad` is consumed: its storage is reused where nobody else holds it, and copied only where it has to stay. A
  /// micro-batch that is outside of the block or was inserted before is an std::logic_error.
  void insert(std::uint32_t micro_batch, at::Tensor grad);
  /// The same for consecutive micro-batches from `first` on, a row each: what is a tree of 2, 4 or 8 of them is added
  /// in one pass.
  void insert_rows(std::uint32_t first, const std::vector<at::Tensor>& rows);
  /// The partial sums (fp32) of the block's maximal nodes, in order; leaves the object empty.
  /// Every micro-batch of the block must have been inserted, else std::logic_error.
  std::vector<at::Tensor> finish();
  /// Whether finish() would find every micro-batch.
  bool complete() const { return inserted_ == block_.hi - block_.lo; }
  /// Whether take() would find it.
  bool has(std::uint32_t micro_batch) const { return nodes_.contains({micro_batch, micro_batch + 1}); }
  /// The gradient of a micro-batch that has not met its sibling, as it came, else std::logic_error; the object forgets
  /// it.
  at::Tensor take(std::uint32_t micro_batch);
  /// Sums held at present.
  std::size_t held() const { return nodes_.size(); }

 private:
  void insert_node(Node node, at::Tensor values);

  std::uint32_t count_;
  Node block_;
  std::uint32_t inserted_ = 0;
  std::map<Node, at::Tensor> nodes_;
};

}  // namespace titan::train
