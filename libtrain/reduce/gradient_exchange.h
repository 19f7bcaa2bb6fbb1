#pragma once
// Gradients to their owners, weights from their owners to everybody: built once per run, with its plans and buffers.
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include <ATen/core/Tensor.h>

#include "libtrain/model/rank_stages.h"
#include "libtrain/parallel/communicator.h"
#include "libtrain/reduce/sharded_sums.h"
#include "libtrain/reduce/stage_exchange.h"
#include "libtrain/reduce/tree_sum.h"

namespace titan::train {

/// The gradient of one owned piece (fp32, 1-D, 64-byte aligned), summed over all M micro-batches; for a tied embedding
/// the head's tree root has been added. It may lie in the memory of the sums, which it then keeps.
struct OwnedGradient {
  ckpt::OwnedPiece piece;
  at::Tensor grad;
};

class GradientExchange {
 public:
  /// `world`, `plan` and `stages` must outlive the exchange.
  GradientExchange(World& world, const recipe::RunPlan& plan, const ckpt::Ownership& owners, const RankStages& stages);

  GradientExchange(const GradientExchange&) = delete;
  GradientExchange& operator=(const GradientExchange&) = delete;

  /// Whether gradients are exchanged after each micro-batch: collect() is then called after each.
  bool in_turns() const { return !sharded_.empty(); }
  /// Takes the gradients of this rank's `local`-th micro-batch out of the `sums` of a stage and brings them to their
  /// owners. Collective, in one order on all ranks of the stage; `sums` are none where the rank lacks the micro-batch.
  void collect(std::uint32_t stage, std::uint32_t local, std::span<TreeSum> sums);

  /// Sums each slot of the stage over the DP ranks and returns the pieces that this rank owns.
  ///
  /// `sums` has one TreeSum per entry of stages.parameters(), all complete (or collected); with a tied head on the same
  /// rank its slot is among them. With the head on another rank, that one first sends its partial nodes (or in turns
  /// the sums) to the first stage's rank of the same dp_rank over `world.pp`; both sides call this function. The wire
  /// carries fp32 only.
  std::vector<OwnedGradient> reduce(std::vector<TreeSum>& sums);

  /// Brings every rank's `owned` weights (fp32, in the order of its pieces) to the compute copies of all ranks of the
  /// stage, then the tied embedding to the last stage. The wire carries what the compute copy holds.
  void share(std::span<const at::Tensor> owned);

  /// Bytes of the buffers that the exchange holds.
  std::int64_t buffer_bytes() const;

 private:
  using Slots = std::vector<at::Tensor>;  ///< flat, by slot

  /// Sends and receives the elements of two rows piece by piece; take(segment, received) gets what came.
  template <typename Take>
  void swap_rows(Fabric& group, int peer, std::uint64_t tag, const ExchangePlan& plan, std::int64_t pieces,
                 const SegmentRow& give, const SegmentRow& take, const Slots& slots, at::ScalarType type,
                 const Take& use);
  at::Tensor buffer(std::int64_t first, std::int64_t elements, at::ScalarType type) const;
  std::vector<OwnedGradient> owned_of(const Slots& sums, bool whole) const;
  /// Sums the slots over the ranks of exchange_.sums; the parts that this rank is to have end in partials.front().
  void sum_over_ranks(const std::vector<Slots>& partials);
  void sum_by_swaps(Fabric& group, const Slots& sums);
  void sum_by_slices(Fabric& group, const std::vector<Slots>& partials);
  void copy_by_slices(const ExchangePlan& plan, at::ScalarType type);
  void move_tied_sums(std::vector<Slots>& partials);
  Slots finish_turns();
  void move_tied_weight();
  std::optional<std::size_t> tied_slot() const;
  /// Ranks in the pipeline of the stages that a tied weight is in.
  int first_rank() const { return static_cast<int>(plan_.rank_of(0)); }
  int last_rank() const { return static_cast<int>(plan_.rank_of(plan_.stage_count() - 1)); }
  at::Tensor piece_of(const ckpt::OwnedPiece& piece, const at::Tensor& flat) const;

  World& world_;
  const recipe::RunPlan& plan_;
  const RankStages& stages_;
  std::vector<ckpt::OwnedPiece> pieces_;          ///< of this rank
  std::map<std::uint32_t, std::size_t> slot_of_;  ///< of a parameter: not its tied head's
  Slots weights_;                                 ///< compute copies, flat
  StageExchange exchange_;
  at::Tensor bytes_;                  ///< of all buffers
  Share share_;                       ///< of this rank
  std::vector<ShardedSums> sharded_;  ///< of each stage, where gradients are exchanged in turns
};

}  // namespace titan::train
