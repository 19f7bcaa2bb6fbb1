#pragma once
// Gradients to their owners, weights from their owners to everybody: built once per run, with its plans and buffers.
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "libtrain/engine/device/lane.h"
#include "libtrain/engine/exchange/owned_gradient.h"
#include "libtrain/engine/exchange/sharded_sums.h"
#include "libtrain/engine/exchange/tree_sum.h"
#include "libtrain/engine/model/rank_stages.h"
#include "libtrain/engine/parallel/communicator.h"
#include "libtrain/job/order/stage_exchange.h"
#include "recipe/plan/run_plan.h"

namespace titan::train {

/// With more than one part (RunPlan::exchange_parts) transfers go on beside what the run computes: sums of a part
/// travel while the backward works on the parts below it, weights while the optimizer and the next forward work on
/// others. Orders of the same copies and additions: no bit depends on it.
class GradientExchange {
 public:
  /// `world`, `plan` and `stages` must outlive the exchange.
  GradientExchange(World& world, const recipe::RunPlan& plan, const ckpt::Ownership& owners, const RankStages& stages);

  GradientExchange(const GradientExchange&) = delete;
  GradientExchange& operator=(const GradientExchange&) = delete;

  /// Says to each group of ranks what it will be used for. Collective; before everything else, once all ranks have an
  /// exchange.
  void connect();

  /// Whether gradients are exchanged after each micro-batch: collect() is then called after each.
  bool in_turns() const { return !sharded_.empty(); }
  /// Takes the gradients of this rank's `local`-th micro-batch out of the `sums` of a stage and brings them to their
  /// owners. Collective, in one order on all ranks of the stage; `sums` are none where the rank lacks the micro-batch.
  void collect(std::uint32_t stage, std::uint32_t local, std::span<TreeSum> sums);

  /// Begins with the parts, the last of the model first, that are there: whose sums are complete, or in turns those of
  /// the rank's `local`-th micro-batch of `stage`. `sums` are those of reduce(). To be called whenever a backward has
  /// given more of that micro-batch; without parts it does nothing.
  void begin(std::uint32_t stage, std::uint32_t local, std::span<TreeSum> sums);

  /// Sums each slot of the stage over the DP ranks and returns the pieces that this rank owns.
  ///
  /// `sums` has one TreeSum per entry of stages.parameters(), all complete (or collected, or taken by begin()); with a
  /// tied head on the same rank its slot is among them. With the head on another rank, that one first sends its partial
  /// nodes (or in turns the sums) to the first stage's rank of the same dp_rank over `world.pp`; both sides call this
  /// function. The wire carries fp32 only.
  std::vector<OwnedGradient> reduce(std::span<TreeSum> sums);

  /// Whether it goes on beside the run: whoever computes then calls begin() and await_weights().
  bool beside() const { return lane_ != nullptr; }
  /// Parts that travel by themselves, in model order.
  std::size_t parts() const { return exchange_.parts.size(); }
  /// Places of a part's pieces among those that this rank owns: [first, second).
  std::pair<std::size_t, std::size_t> pieces_of(std::size_t part) const { return part_pieces_.at(part); }
  /// Brings every rank's `owned` weights of a part (fp32, its pieces in order) to the compute copies of all ranks of
  /// the stage; after the last part the tied embedding to the last stage. All parts, in order. The wire carries what
  /// the compute copy holds.
  void share(std::size_t part, std::span<const at::Tensor> owned);
  /// All parts of all `owned` weights, in order of the pieces.
  void share(std::span<const at::Tensor> owned);
  /// Before somebody computes with the weights of a stage up to and with those at `place` of its parameters.
  void await_weights(std::uint32_t stage, std::size_t place);
  /// Before somebody uses any weights; gradients in turns may travel on.
  void await_shared();
  /// All that was begun.
  void await_weights();

  /// Bytes of the buffers that the exchange holds.
  std::int64_t buffer_bytes() const;

 private:
  using Slots = std::vector<at::Tensor>;     ///< flat, by slot
  using Splits = std::vector<std::int64_t>;  ///< elements, by rank

  /// Sends and receives the elements of two rows piece by piece; take(segment, received) gets what came.
  template <typename Take>
  void swap_rows(Fabric& group, int peer, std::uint64_t tag, const ExchangePlan& plan, std::int64_t pieces,
                 const SegmentRow& give, const SegmentRow& take, const Slots& slots, at::ScalarType type,
                 const Take& use);
  at::Tensor buffer(std::int64_t first, std::int64_t elements, at::ScalarType type) const;
  std::vector<OwnedGradient> owned_of(const Slots& sums, bool whole) const;
  void begin_sums(std::span<TreeSum> sums);
  /// Whether all sums of a part are there.
  bool is_whole(std::size_t part, std::span<const TreeSum> sums) const;
  /// Exchanges the next part of a micro-batch in turns; nothing of it where `sums`, those of its stage, are none.
  void take_turn(std::size_t turn, std::uint32_t local, std::span<TreeSum> sums);
  /// Takes the nodes of a slot.
  void take(std::uint32_t slot, std::span<TreeSum> sums);
  /// Runs `work` beside the run where there are parts, else at once.
  void run(Lane::Work work);
  void sum_part(std::size_t part);
  /// Sums the slots over the ranks; what this rank is to have ends in partials.front().
  void sum_over_ranks(const ExchangePlan& plan, std::uint64_t tag, const std::vector<Slots>& partials);
  void sum_by_swaps(Fabric& group, const ExchangePlan& plan, std::uint64_t tag, const Slots& sums);
  void sum_by_slices(Fabric& group, const ExchangePlan& plan, std::uint64_t tag, const std::vector<Slots>& partials);
  /// Elements `from` to `to` of each owner's row, which travel at once in an all-to-all.
  struct Slice {
    std::int64_t from = 0, to = 0;
    std::int64_t length = 0;  ///< of this rank's own row there
    Splits of_owners = {};    ///< by rank: elements of this rank's nodes that are that rank's
    Splits of_mine = {};      ///< by rank: elements of that rank's nodes that are this rank's
  };
  static Slice slice_of(const ExchangePlan& plan, std::int64_t index);
  /// Sends what fill(in) writes, and returns what came; both lie in the buffer.
  template <typename Fill>
  at::Tensor exchange_slice(Fabric& group, const ExchangePlan& plan, std::uint64_t tag, const Splits& out_splits,
                            const Splits& in_splits, at::ScalarType type, const Fill& fill);
  void share_part(std::size_t part);
  void copy_by_slices(const ExchangePlan& plan, std::uint64_t tag, at::ScalarType type);
  void move_tied_sums(std::span<TreeSum> sums);
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
  at::Tensor bytes_;                                              ///< of all buffers
  Share share_;                                                   ///< of this rank
  std::map<std::uint32_t, std::size_t> first_slot_;               ///< of a stage
  std::vector<std::pair<std::size_t, std::size_t>> part_pieces_;  ///< of each part
  std::vector<Slots> partials_;       ///< by node: sums that were taken, until reduce() ends
  std::size_t next_part_ = 0;         ///< parts below it have not begun in this step
  std::vector<std::size_t> shared_;   ///< works of the lane after which a part is here
  std::vector<ShardedSums> sharded_;  ///< of each stage and part, where gradients are exchanged in turns
  /// Of each stage in turns: its parts, [first, second) of sharded_, and how many of them the micro-batch at hand has
  /// still to give.
  struct StageTurns {
    std::size_t first = 0, end = 0, left = 0;
  };
  std::map<std::uint32_t, StageTurns> turns_of_;
  std::unique_ptr<Lane> lane_;  ///< null: one part, at once; ends before what it uses
};

}  // namespace titan::train
