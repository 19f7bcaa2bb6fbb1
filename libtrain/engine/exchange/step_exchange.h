#pragma once
// What the executor tells an exchange, and asks of it, while it computes a step.
#include <cstddef>
#include <cstdint>
#include <span>

#include "libtrain/engine/exchange/tree_sum.h"

namespace titan::train {

class StepExchange {
 public:
  virtual ~StepExchange() = default;

  /// Whether gradients are exchanged after each micro-batch: collect() is then called after each.
  virtual bool in_turns() const = 0;
  /// Takes the gradients of this rank's `local`-th micro-batch out of the `sums` of a stage and brings them to their
  /// owners. Called in the order of the table, which all ranks of the stage have; `sums` are none where the rank lacks
  /// the micro-batch.
  virtual void collect(std::uint32_t stage, std::uint32_t local, std::span<TreeSum> sums) = 0;

  /// Whether transfers go on while stages compute: the three below are then called.
  virtual bool beside() const = 0;
  /// A backward has given more of the gradients of the rank's `local`-th micro-batch of `stage`. `sums` are all of the
  /// step.
  virtual void begin(std::uint32_t stage, std::uint32_t local, std::span<TreeSum> sums) = 0;
  /// Before somebody computes with the weights of a stage up to and with those at `place` of its parameters.
  virtual void await_weights(std::uint32_t stage, std::size_t place) const = 0;
  /// Before somebody uses any weights; gradients in turns may travel on.
  virtual void await_shared() const = 0;
};

}  // namespace titan::train
