#pragma once
// Gradients to their owners (a reduce-scatter in the order of the tree), weights from their owners to everybody (an
// all-gather): built once per run, with its plans and buffers.
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "libtrain/engine/device/lane.h"
#include "libtrain/engine/exchange/exchange_setup.h"
#include "libtrain/engine/exchange/gradient_sums.h"
#include "libtrain/engine/exchange/owned_gradient.h"
#include "libtrain/engine/exchange/step_exchange.h"
#include "libtrain/engine/exchange/weight_sharing.h"

namespace titan::train {

/// With more than one part (RunPlan::exchange_parts) transfers go on beside what the run computes: sums of a part
/// travel while the backward works on the parts below it, weights while the optimizer and the next forward work on
/// others. Orders of the same copies and additions: no bit depends on it.
class GradientExchange : public StepExchange {
 public:
  /// `world`, `plan` and `stages` must outlive the exchange.
  GradientExchange(World& world, const recipe::RunPlan& plan, const ckpt::Ownership& owners, const RankStages& stages);

  GradientExchange(const GradientExchange&) = delete;
  GradientExchange& operator=(const GradientExchange&) = delete;

  /// Says to each group of ranks what it will be used for. Collective; before everything else, once all ranks have an
  /// exchange.
  void connect();

  bool in_turns() const override { return !sums_->whole(); }
  void collect(std::uint32_t stage, std::uint32_t local, std::span<TreeSum> sums) override;
  /// Begins with the parts, the last of the model first, that are there: whose sums are complete, or in turns those of
  /// the rank's `local`-th micro-batch of `stage`. Without parts it does nothing.
  void begin(std::uint32_t stage, std::uint32_t local, std::span<TreeSum> sums) override;

  /// Sums each slot of the stage over the DP ranks and returns the pieces that this rank owns.
  ///
  /// `sums` has one TreeSum per entry of stages.parameters(), all complete (or collected, or taken by begin()); with a
  /// tied head on the same rank its slot is among them. With the head on another rank, that one first sends its partial
  /// nodes (or in turns the sums) to the first stage's rank of the same dp_rank over `world.pp`; both sides call this
  /// function. The wire carries fp32 only.
  std::vector<OwnedGradient> reduce(std::span<TreeSum> sums);

  bool beside() const override { return lane_ != nullptr; }
  /// Parts that travel by themselves, in model order.
  std::size_t parts() const { return setup_.exchange.parts.size(); }
  /// Places of a part's pieces among those that this rank owns: [first, second).
  std::pair<std::size_t, std::size_t> pieces_of(std::size_t part) const { return part_pieces_.at(part); }
  /// Brings every rank's `owned` weights of a part (fp32, its pieces in order) to the compute copies of all ranks of
  /// the stage; after the last part the tied embedding to the last stage. All parts, in order. The wire carries what
  /// the compute copy holds.
  void share(std::size_t part, std::span<const at::Tensor> owned);
  /// All parts of all `owned` weights, in order of the pieces.
  void share(std::span<const at::Tensor> owned);
  void await_weights(std::uint32_t stage, std::size_t place) const override { sharing_.await(stage, place); }
  void await_shared() const override { sharing_.await_all(); }
  /// All that was begun.
  void await_weights() const;

  /// Bytes of the buffers that the exchange holds.
  std::int64_t buffer_bytes() const { return setup_.rows.bytes().numel(); }

 private:
  at::Tensor piece_of(const ckpt::OwnedPiece& piece, const at::Tensor& flat) const;

  ExchangeSetup setup_;
  std::vector<ckpt::OwnedPiece> pieces_;                          ///< of this rank
  std::vector<std::pair<std::size_t, std::size_t>> part_pieces_;  ///< of each part
  std::unique_ptr<GradientSums> sums_;
  WeightSharing sharing_;
  std::unique_ptr<Lane> lane_;  ///< null: one part, at once; ends before what it uses
};

}  // namespace titan::train
