#pragma once
// Gradient sums of the elements that a rank owns, while micro-batches finish: each goes to its owners at once, so that
// no rank holds sums of what others own.
#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "libtrain/parallel/communicator.h"
#include "libtrain/reduce/exchange_plan.h"
#include "libtrain/reduce/tree_sum.h"

namespace titan::train {

class ShardedSums {
 public:
  /// `plan` is one of plan_turn(); sums over `count` micro-batches. `bytes` are the buffers. References must outlive
  /// the object.
  ShardedSums(Fabric& dp, const ExchangePlan& plan, std::uint32_t count, const at::Tensor& bytes);

  /// A turn, collective, in any order: `slots` are the gradients (fp32, flat) of this rank's micro-batch; none where it
  /// has none.
  void add(std::uint32_t turn, const std::vector<at::Tensor>& slots);
  /// After all turns. \return the sums of `slots` slots, of what this rank owns of it (undefined: nothing). The object
  /// is as new.
  std::vector<at::Tensor> finish(std::size_t slots);

 private:
  Fabric& dp_;
  const ExchangePlan& plan_;
  std::uint32_t count_;
  at::Tensor bytes_;
  std::vector<TreeSum> sums_;  ///< of each piece of the own row
};

}  // namespace titan::train
