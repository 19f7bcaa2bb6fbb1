#pragma once
// Sums gradients in turns: each micro-batch is exchanged among the ranks of a domain as soon as it is done. Each rank
// of the domain sums a different part of the elements.
#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "libtrain/engine/exchange/row_exchange.h"
#include "libtrain/engine/exchange/tree_sum.h"
#include "libtrain/engine/parallel/communicator.h"
#include "libtrain/job/reduction/exchange_plan.h"

namespace titan::train {

class ShardedSums {
 public:
  /// `plan` comes from plan_turn() over the ranks of `domain`, which share the micro-batches of `block` out of `count`
  /// in all. Gradients have and travel as `type`. `rows` has the buffers. References must outlive the object.
  ShardedSums(Fabric& domain, const ExchangePlan& plan, std::uint32_t count, Node block, at::ScalarType type,
              const RowExchange& rows);

  /// Exchanges the gradients of one turn. Collective; turns may be in any order. `slots`: the flat gradients of this
  /// rank's micro-batch; empty if it has none in this turn. \error std::logic_error: a gradient is not of the
  /// constructor's `type`
  void add(std::uint32_t turn, const std::vector<at::Tensor>& slots);
  /// Call this after all turns. Returns the sums of the block's maximal nodes, each as long as this rank's row. The
  /// object can then be reused.
  std::vector<at::Tensor> finish();

 private:
  Fabric& domain_;
  const ExchangePlan& plan_;
  std::uint32_t count_;
  Node block_;
  at::ScalarType type_;
  const RowExchange& rows_;
  std::vector<TreeSum> sums_;  ///< one per piece of this rank's row
};

}  // namespace titan::train
