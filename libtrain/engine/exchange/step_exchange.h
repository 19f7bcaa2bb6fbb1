#pragma once
// What the executor calls during a step so that gradients and weights are exchanged.
#include <cstddef>
#include <cstdint>
#include <span>

#include "libtrain/engine/exchange/tree_sum.h"

namespace titan::train {

/// The interface of GradientExchange to the executor.
class StepExchange {
 public:
  virtual ~StepExchange() = default;

  /// Whether gradients are exchanged "in turns", that is after each micro-batch. Only then collect() is called.
  virtual bool per_micro_batch() const = 0;
  /// Takes the gradients of this rank's `local`-th micro-batch out of the `sums` of a stage and sends them to their
  /// owners. The executor calls it in the order of the schedule table, which is the same on all ranks of the stage.
  /// `sums` is empty if the rank does not have the micro-batch.
  virtual void collect(std::uint32_t stage, std::uint32_t local, std::span<TreeSum> sums) = 0;

  /// Whether transfers overlap with computing. Only then are the next three functions called.
  virtual bool overlaps() const = 0;
  /// The executor reports that a backward has added gradients of the rank's `local`-th micro-batch of `stage` to
  /// `sums`: here these are the sums of all stages of this rank, not only of `stage`.
  virtual void begin(std::uint32_t stage, std::uint32_t local, std::span<TreeSum> sums) = 0;
  /// Returns when the weights of a stage's parameters 0 to `place` (inclusive) have been received and may be used.
  virtual void await_weights(std::uint32_t stage, std::size_t place) const = 0;
  /// Returns when all weights have been received. Gradients that are exchanged in turns may still be in transit.
  virtual void await_copies() const = 0;
};

}  // namespace titan::train
