#pragma once
// Exchange of gradients and weights among the ranks of a stage: a reduce-scatter of gradients to their owners, added in
// the order of the canonical tree, and an all-gather of weights from their owners. Created once per run, with all plans
// and buffers.
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
#include "libtrain/engine/exchange/weight_copies.h"

namespace titan::train {

/// A part is a range of the rank's layers whose gradients and weights are exchanged together. If there are several
/// parts (RunPlan::exchange_parts), transfers overlap with computing: the gradients of a part are exchanged while the
/// backward computes the layers before it, and the weights of a part while the optimizer and the next forward work on
/// other parts. Results have the same bits for any number of parts, since the order of additions is the same.
class GradientExchange : public StepExchange {
 public:
  /// `world`, `plan` and `stages` must outlive the exchange.
  GradientExchange(World& world, const recipe::RunPlan& plan, const ckpt::Ownership& owners, const RankStages& stages);

  GradientExchange(const GradientExchange&) = delete;
  GradientExchange& operator=(const GradientExchange&) = delete;

  /// Announces to each group of ranks its transfers, so that the group can connect (Fabric::expect). Collective. Call
  /// it before all other functions, once all ranks have created their exchange. \error CommError
  void connect();

  bool per_micro_batch() const override { return !sums_->whole(); }
  void collect(std::uint32_t stage, std::uint32_t local, std::span<TreeSum> sums) override;
  /// Starts to exchange the parts that are ready, the model's last part first. If per_micro_batch(), a part is ready
  /// when all its gradients of the rank's `local`-th micro-batch of `stage` are in `sums`. Otherwise it is ready when
  /// its sums are complete. Does nothing if there is a single part.
  void begin(std::uint32_t stage, std::uint32_t local, std::span<TreeSum> sums) override;

  /// Sums the gradients of the step over the data-parallel ranks and returns the sums that this rank owns, one per
  /// piece. Collective.
  ///
  /// `sums` has one TreeSum per entry of stages.parameters(). Each must be complete, or already taken by collect() or
  /// begin(). If a tied head is on another rank than its embedding, the head's sums are sent to the embedding's rank of
  /// the same dp_rank over `world.pp`. Sums are sent as fp32. If per_micro_batch(), the gradients of a micro-batch were
  /// sent in their own type (fp32 or bf16). \error CommError
  std::vector<OwnedGradient> reduce(std::span<TreeSum> sums);

  bool overlaps() const override { return lane_ != nullptr; }
  /// The number of parts. They are in model order.
  std::size_t parts() const { return setup_.exchange.parts.size(); }
  /// The pieces of a part that this rank owns, as a range [first, second) of all pieces that it owns.
  std::pair<std::size_t, std::size_t> pieces_of(std::size_t part) const { return part_pieces_.at(part); }
  /// Copies the weights of a part from their owners to the compute copies of all ranks of the stage. `owned` are the
  /// weights that this rank owns: fp32, one tensor per piece of pieces_of(part). Weights are sent in the type of the
  /// compute copies. Call it for all parts, in order. If a tied head is on another rank than its embedding, the call
  /// for the last part also sends the weight to the head. Collective. \error CommError
  void send_weights(std::size_t part, std::span<const at::Tensor> owned);
  /// Calls send_weights() for all parts. `owned` are all weights that this rank owns, one tensor per piece.
  void send_weights(std::span<const at::Tensor> owned);
  void await_weights(std::uint32_t stage, std::size_t place) const override { copies_.await(stage, place); }
  void await_copies() const override { copies_.await_all(); }
  /// Waits for all weights for which send_weights() was called.
  void await_weights() const;

  /// Bytes of all buffers of the exchange.
  std::int64_t buffer_bytes() const { return setup_.rows.bytes().numel(); }

 private:
  /// The elements of `piece` in `flat`, the whole parameter as a 1-D tensor.
  at::Tensor piece_of(const ckpt::OwnedPiece& piece, const at::Tensor& flat) const;

  ExchangeSetup setup_;
  std::vector<ckpt::OwnedPiece> pieces_;                          ///< the pieces that this rank owns
  std::vector<std::pair<std::size_t, std::size_t>> part_pieces_;  ///< pieces_of() each part
  std::unique_ptr<GradientSums> sums_;
  WeightCopies copies_;
  std::unique_ptr<Lane>
      lane_;  ///< null if there is a single part. The last member, so that it is destroyed before what its work uses
};

}  // namespace titan::train
