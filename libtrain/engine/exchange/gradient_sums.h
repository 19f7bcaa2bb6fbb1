#pragma once
// Sums a step's gradients of this rank's stages over the data-parallel ranks. There are two ways: "late", at the end of
// the step, and "in turns", after each micro-batch.
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
  /// Whether each tensor of finish() has the size of its parameter; then only the elements that this rank owns are
  /// final sums. If false, a tensor has only the elements that this rank owns.
  virtual bool whole() const = 0;
  /// Takes the gradients of this rank's `local`-th micro-batch of a stage out of the stage's `sums` and exchanges them;
  /// does nothing if sums are late. `sums` is empty if this rank has no `local`-th micro-batch; it then only takes part
  /// in the exchange. Collective.
  virtual void collect(std::uint32_t stage, std::uint32_t local, std::span<TreeSum> sums) = 0;
  /// Starts to exchange the parts that are ready (see GradientExchange::begin). `sums` are the sums of all stages.
  virtual void begin(std::uint32_t stage, std::uint32_t local, std::span<TreeSum> sums) = 0;
  /// Completes the step's sums and returns them by summand (exchange_setup.h). If this rank has the embedding of a tied
  /// head, the head's sums come last. Collective.
  virtual Summands finish(std::span<TreeSum> sums) = 0;
};

/// Late sums: partial sums are exchanged once per step, at its end or, part by part, during its last backward. `setup`
/// must outlive the result.
std::unique_ptr<GradientSums> make_late_sums(const ExchangeSetup& setup);
/// Sums in turns: the gradients of each micro-batch are exchanged at once, so that a rank holds only its share of the
/// sums (ZeRO-2). `setup` must outlive the result.
std::unique_ptr<GradientSums> make_micro_batch_sums(const ExchangeSetup& setup);

}  // namespace titan::train
