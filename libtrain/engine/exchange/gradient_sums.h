#pragma once
// Sums a step's gradients of this rank's stages over the data-parallel ranks: at the end of the step, or in turns
// (after each micro-batch).
#include <cstdint>
#include <memory>
#include <span>

#include "libtrain/engine/exchange/exchange_setup.h"
#include "libtrain/engine/exchange/row_exchange.h"
#include "libtrain/engine/exchange/tree_sum.h"

namespace titan::train {

class GradientSums {
 public:
  virtual ~GradientSums() = default;
  /// Whether a slot of finish() holds the whole parameter, with final sums only in the elements that this rank owns.
  /// Otherwise a slot holds only the elements that this rank owns.
  virtual bool whole() const = 0;
  /// Takes the gradients of this rank's `local`-th micro-batch of a stage. `sums` is empty if the rank has no such
  /// micro-batch.
  virtual void collect(std::uint32_t stage, std::uint32_t local, std::span<TreeSum> sums) = 0;
  /// Starts to exchange the parts that are ready. `sums` are those of all stages.
  virtual void begin(std::uint32_t stage, std::uint32_t local, std::span<TreeSum> sums) = 0;
  /// The sums by slot; if this rank has the embedding of a tied head, the head's sums come last.
  virtual Slots finish(std::span<TreeSum> sums) = 0;
};

/// Exchanges partial sums once per step: at its end, or part by part during its last backward. `setup` must outlive it.
std::unique_ptr<GradientSums> make_late_sums(const ExchangeSetup& setup);
/// Exchanges each micro-batch's gradients at once, so that a rank holds only the sums that it owns (ZeRO-2). `setup`
/// must outlive it.
std::unique_ptr<GradientSums> make_turn_sums(const ExchangeSetup& setup);

}  // namespace titan::train
