#pragma once
// Reduce-scatter of gradients to their owners (summed in tree order) and all-gather of weights from their owners.
// Created once per run, with its plans and buffers.
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

/// With more than one part (RunPlan::exchange_parts), transfers overlap with computing: sums of a part are sent while
/// the backward works on the parts below it, and its weights are sent while the optimizer and the next forward work on
/// other parts. Only the start times of copies and additions change, so results have the same bits for any number of
/// parts.
class GradientExchange : public StepExchange {
 public:
  /// `world`, `plan` and `stages` must outlive the exchange.
  GradientExchange(World& world, const recipe::RunPlan& plan, const ckpt::Ownership& owners, const RankStages& stages);

  GradientExchange(const GradientExchange&) = delete;
  GradientExchange& operator=(const GradientExchange&) = delete;

  /// Tells each group of ranks which transfers to expect, so that it can connect. Collective. Call it first, once all
  /// ranks have created their exchange.
  void connect();

  bool in_turns() const override { return !sums_->whole(); }
  void collect(std::uint32_t stage, std::uint32_t local, std::span<TreeSum> sums) override;
  /// Starts to exchange the parts that are ready, the model's last part first. A part is ready once its sums are
  /// complete; if gradients are exchanged in turns (in_turns()), once it has the gradients of the rank's `local`-th
  /// micro-batch of `stage`. Does nothing if there is a single part.
  void begin(std::uint32_t stage, std::uint32_t local, std::span<TreeSum> sums) override;

  /// Sums each slot of the stage over the DP ranks and returns the pieces that this rank owns.
  ///
  /// `sums` has one TreeSum per entry of stages.parameters(), all complete (or collected, or taken by begin()),
  /// including the slot of a tied head on the same rank. If the tied head is on another rank, the head's rank first
  /// sends its partial nodes (in turns: its sums) to the first stage's rank of the same dp_rank over `world.pp`; both
  /// ranks call this function. Sums are sent as fp32. In turns, a micro-batch's gradients are sent in their own type
  /// (fp32 or bf16).
  std::vector<OwnedGradient> reduce(std::span<TreeSum> sums);

  bool beside() const override { return lane_ != nullptr; }
  /// The number of separately sent parts; parts are in model order.
  std::size_t parts() const { return setup_.exchange.parts.size(); }
  /// The range [first, second) of a part's pieces among the pieces that this rank owns.
  std::pair<std::size_t, std::size_t> pieces_of(std::size_t part) const { return part_pieces_.at(part); }
  /// Copies every rank's `owned` weights of a part (fp32, the part's pieces in order) to the compute copies of all
  /// ranks of the stage; after the last part, also a tied embedding to the last stage. Call it for all parts, in order.
  /// Weights are sent in the type of the compute copies.
  void share(std::size_t part, std::span<const at::Tensor> owned);
  /// Shares all parts. `owned`: all weights that this rank owns, in the order of the pieces.
  void share(std::span<const at::Tensor> owned);
  void await_weights(std::uint32_t stage, std::size_t place) const override { sharing_.await(stage, place); }
  void await_shared() const override { sharing_.await_all(); }
  /// Waits for all weights whose sharing has started.
  void await_weights() const;

  /// Bytes of the buffers that the exchange holds.
  std::int64_t buffer_bytes() const { return setup_.rows.bytes().numel(); }

 private:
  at::Tensor piece_of(const ckpt::OwnedPiece& piece, const at::Tensor& flat) const;

  ExchangeSetup setup_;
  std::vector<ckpt::OwnedPiece> pieces_;                          ///< this rank's pieces
  std::vector<std::pair<std::size_t, std::size_t>> part_pieces_;  ///< of each part
  std::unique_ptr<GradientSums> sums_;
  WeightSharing sharing_;
  std::unique_ptr<Lane>
      lane_;  ///< null: there is one part, exchanged at once. Last member, so that it is destroyed before what it uses
};

}  // namespace titan::train
