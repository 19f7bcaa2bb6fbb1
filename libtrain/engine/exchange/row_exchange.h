#pragma once
// Exchanges elements between the ranks of a stage as an ExchangePlan says, through one set of buffers. The plan divides
// elements into rows: a row is a list of tensor parts that one rank owns or receives (SegmentRow).
#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "libtrain/engine/parallel/links/fabric.h"
#include "libtrain/job/reduction/exchange_plan.h"

namespace titan::train {

/// Tensors by summand (exchange_setup.h): each 1-D, all of one type.
using Summands = std::vector<at::Tensor>;

/// All functions are const, since they change only the given tensors and the buffers.
class RowExchange {
 public:
  /// Allocates buffers of `bytes` bytes in total.
  explicit RowExchange(std::int64_t bytes);

  /// Sums `partials` over the ranks of `group`. `partials` has one entry for each node of the canonical summation tree
  /// (tree.h) that this rank has summed. The sums of the elements that `plan` assigns to this rank are written to
  /// partials.front(). Values are sent as fp32. `tag` is the first tag to use; sum() takes 4 tags, and 4 more for each
  /// of `plan.swaps`. Collective. \error CommError
  void sum(Fabric& group, const ExchangePlan& plan, std::uint64_t tag, const std::vector<Summands>& partials) const;
  /// Copies each owner's elements of `summands` to the `summands` of all ranks of `group`, by the steps of sum() in
  /// reverse. Values are sent as `type`. `tag` is the first tag to use. Returns the first unused tag. Collective.
  /// \error CommError
  std::uint64_t copy(Fabric& group, const ExchangePlan& plan, std::uint64_t tag, at::ScalarType type,
                     const Summands& summands) const;

  /// The memory of all buffers. A caller may use it between two calls of sum() and copy().
  const at::Tensor& bytes() const { return bytes_; }
  /// Elements [first, first + elements) of that memory, seen as an array of `type`.
  at::Tensor buffer(std::int64_t first, std::int64_t elements, at::ScalarType type) const;

 private:
  using Splits = std::vector<std::int64_t>;  ///< elements, by rank

  /// Elements [from, to) of each owner's row, sent in one all-to-all.
  struct Slice {
    std::int64_t from = 0, to = 0;
    std::int64_t length = 0;  ///< elements of this rank's own row in the slice
    Splits of_owners = {};    ///< by rank: elements that the other rank owns, times the tree nodes sent to it
    Splits of_mine = {};      ///< by rank: elements that this rank owns, times the tree nodes that the other rank sends
  };
  static Slice slice_of(const ExchangePlan& plan, std::int64_t index);

  /// Swaps the rows of `swap` with its peer, message by message, and calls use(part of `summands`, received values) for
  /// each contiguous range. `sums`: whether `swap.theirs` is sent, as for sums, or `swap.mine`, as for weights.
  template <typename Use>
  void swap_rows(Fabric& group, const ExchangePlan& plan, const Swap& swap, bool sums, std::uint64_t tag,
                 const Summands& summands, at::ScalarType type, const Use& use) const;
  /// Calls fill(in) to write what is sent, exchanges it, and returns what was received. The sent and the received
  /// elements are in the buffers.
  template <typename Fill>
  at::Tensor exchange_slice(Fabric& group, const ExchangePlan& plan, std::uint64_t tag, const Splits& out_splits,
                            const Splits& in_splits, at::ScalarType type, const Fill& fill) const;
  void sum_by_swaps(Fabric& group, const ExchangePlan& plan, std::uint64_t tag, const Summands& sums) const;
  void sum_by_slices(Fabric& group, const ExchangePlan& plan, std::uint64_t tag,
                     const std::vector<Summands>& partials) const;
  void copy_by_slices(Fabric& group, const ExchangePlan& plan, at::ScalarType type, const Summands& summands) const;

  at::Tensor bytes_;
};

}  // namespace titan::train
