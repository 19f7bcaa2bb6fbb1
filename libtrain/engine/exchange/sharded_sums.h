#pragma once
// Sums gradients in turns. In a turn, each data-parallel rank of a domain has computed one micro-batch, and the ranks
// exchange the gradients. Each rank of the domain sums different elements.
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
  /// `domain` are the ranks that share the micro-batches of `block`, a range of the step's `count` micro-batches.
  /// `plan` is plan_turn() of these ranks. `type` is the type of the gradients, in memory and in transit. `rows` has
  /// the buffers. References must outlive this object.
  ShardedSums(Fabric& domain, const ExchangePlan& plan, std::uint32_t count, Node block, at::ScalarType type,
              const RowExchange& rows);

  /// Exchanges the gradients of turn number `turn`, in which rank r of n computes micro-batch block.lo + turn * n + r.
  /// `summands` are the 1-D gradients of this rank's micro-batch; empty if there is no such micro-batch. Turns may be
  /// added in any order, which must be the same on all ranks. Collective. \error std::logic_error if a gradient is not
  /// of `type`; CommError
  void add(std::uint32_t turn, const std::vector<at::Tensor>& summands);
  /// Returns the fp32 sums after all turns: one tensor for each maximal tree node of `block` (TreeSum::finish). Each
  /// has the length of this rank's row of the plan. The object can then be used for the next step.
  std::vector<at::Tensor> finish();

 private:
  Fabric& domain_;
  const ExchangePlan& plan_;
  std::uint32_t count_;
  Node block_;
  at::ScalarType type_;
  const RowExchange& rows_;
  std::vector<TreeSum> sums_;  ///< one per message (ExchangePlan::slice elements) of this rank's row
};

}  // namespace titan::train
