#pragma once
// Rows of tensors to other ranks of a stage and back, by the steps of an ExchangePlan, through one set of buffers.
#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "libtrain/engine/parallel/fabric.h"
#include "libtrain/job/order/exchange_plan.h"

namespace titan::train {

/// Tensors by slot: flat, of one type.
using Slots = std::vector<at::Tensor>;

/// Its operations change tensors, not the object.
class RowExchange {
 public:
  /// With buffers of `bytes` in all.
  explicit RowExchange(std::int64_t bytes);

  /// Sums `partials`, which are by node, over the ranks of `group`. What this rank is to have by `plan` ends in
  /// partials.front(). Collective. The wire carries fp32.
  void sum(Fabric& group, const ExchangePlan& plan, std::uint64_t tag, const std::vector<Slots>& partials) const;
  /// Brings each owner's elements of `slots` to all ranks of `group`: the steps of sum(), backwards. Collective. The
  /// wire carries `type`. Returns the tag for what follows.
  std::uint64_t copy(Fabric& group, const ExchangePlan& plan, std::uint64_t tag, at::ScalarType type,
                     const Slots& slots) const;

  /// Of all buffers, for one who uses them between two calls.
  const at::Tensor& bytes() const { return bytes_; }
  at::Tensor buffer(std::int64_t first, std::int64_t elements, at::ScalarType type) const;

 private:
  using Splits = std::vector<std::int64_t>;  ///< elements, by rank

  /// Elements `from` to `to` of each owner's row, which travel at once in an all-to-all.
  struct Slice {
    std::int64_t from = 0, to = 0;
    std::int64_t length = 0;  ///< of this rank's own row there
    Splits of_owners = {};    ///< by rank: elements of this rank's nodes that are that rank's
    Splits of_mine = {};      ///< by rank: elements of that rank's nodes that are this rank's
  };
  static Slice slice_of(const ExchangePlan& plan, std::int64_t index);

  /// Sends and receives the elements of two rows piece by piece; use(part of the slots, received) gets what came.
  template <typename Use>
  void swap_rows(Fabric& group, const ExchangePlan& plan, const Swap& swap, bool sums, std::uint64_t tag,
                 const Slots& slots, at::ScalarType type, const Use& use) const;
  /// Sends what fill(in) writes, and returns what came; both lie in the buffer.
  template <typename Fill>
  at::Tensor exchange_slice(Fabric& group, const ExchangePlan& plan, std::uint64_t tag, const Splits& out_splits,
                            const Splits& in_splits, at::ScalarType type, const Fill& fill) const;
  void sum_by_swaps(Fabric& group, const ExchangePlan& plan, std::uint64_t tag, const Slots& sums) const;
  void sum_by_slices(Fabric& group, const ExchangePlan& plan, std::uint64_t tag,
                     const std::vector<Slots>& partials) const;
  void copy_by_slices(Fabric& group, const ExchangePlan& plan, at::ScalarType type, const Slots& slots) const;

  at::Tensor bytes_;
};

}  // namespace titan::train
