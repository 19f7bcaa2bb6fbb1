#pragma once
// One step's gradients of this rank's stages, summed over the data-parallel ranks: at the end of the step, or a
// micro-batch at a time.
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
  /// Whether a slot of finish() is the whole parameter, of which what this rank owns is summed; else it is what this
  /// rank owns.
  virtual bool whole() const = 0;
  /// Takes the gradients of this rank's `local`-th micro-batch of a stage; `sums` are none where the rank lacks it.
  virtual void collect(std::uint32_t stage, std::uint32_t local, std::span<TreeSum> sums) = 0;
  /// Begins with the parts that are there. `sums` are those of all stages.
  virtual void begin(std::uint32_t stage, std::uint32_t local, std::span<TreeSum> sums) = 0;
  /// The sums by slot, and last those of a tied head where its embedding is on this rank.
  virtual Slots finish(std::span<TreeSum> sums) = 0;
};

/// Partial sums of a step meet at its end, or part by part while the last backward goes on. `setup` must outlive it.
std::unique_ptr<GradientSums> make_late_sums(const ExchangeSetup& setup);
/// Each micro-batch is exchanged at once, so that a rank holds sums of what it owns alone. `setup` must outlive it.
std::unique_ptr<GradientSums> make_turn_sums(const ExchangeSetup& setup);

}  // namespace titan::train
