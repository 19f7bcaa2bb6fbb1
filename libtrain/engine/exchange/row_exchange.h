#pragma once
// Exchanges rows of tensors between the ranks of a stage as an ExchangePlan says, through one set of buffers.
#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "libtrain/engine/parallel/fabric.h"
#include "libtrain/job/reduction/exchange_plan.h"

namespace titan::train {

/// Tensors by slot: each 1-D, all of one type.
using Slots = std::vector<at::Tensor>;

/// Functions are const: they change tensors, not this object.
class RowExchange {
 public:
  /// Allocates buffers of `bytes` bytes in total.
  explicit RowExchange(std::int64_t bytes);

  /// Sums `partials` (one entry per tree node) over the ranks of `group`. The elements that `plan` assigns to this rank
  /// end up in partials.front(). Collective. Values are sent as fp32.
  void sum(Fabric& group, const ExchangePlan& plan, std::uint64_t tag, const std::vector<Slots>& partials) const;
  /// Copies each owner's elements of `slots` to all ranks of `group`, by the steps of sum() in reverse. Collective.
  /// Values are sent as `type`. Returns the first unused tag.
  std::uint64_t copy(Fabric& group, const ExchangePlan& plan, std::uint64_t tag, at::ScalarType type,
                     const Slots& slots) const;

  /// The memory of all buffers. A caller may use it between two calls.
  const at::Tensor& bytes() const { return bytes_; }
  at::Tensor buffer(std::int64_t first, std::int64_t elements, at::ScalarType type) const;

 private:
  using Splits = std::vector<std::int64_t>;  ///< elements, by rank

  /// Elements [from, to) of each owner's row, sent in one all-to-all.
  struct Slice {
    std::int64_t from = 0, to = 0;
    std::int64_t length = 0;  ///< elements of this rank's own row in the slice
    Splits of_owners = {};    ///< by rank: elements of this rank's nodes that the other rank owns
    Splits of_mine = {};      ///< by rank: elements of the other rank's nodes that this rank owns
  };
  static Slice slice_of(const ExchangePlan& plan, std::int64_t index);

  /// Sends and receives the elements of two rows piece by piece; calls use(part of the slots, received) for each piece.
  template <typename Use>
  void swap_rows(Fabric& group, const ExchangePlan& plan, const Swap& swap, bool sums, std::uint64_t tag,
                 const Slots& slots, at::ScalarType type, const Use& use) const;
  /// Sends what fill(in) writes and returns what was received; both are in the buffers.
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
