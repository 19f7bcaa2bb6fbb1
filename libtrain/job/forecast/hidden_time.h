#pragma once
// How long a rank waits for an exchange that overlaps with computing because it has several parts
// (RunPlan::exchange_parts). Pure; all times are in seconds.
#include <cstdint>
#include <span>

namespace titan::train {

/// A part of what a rank exchanges, in model order.
struct PartSeconds {
  double share = 0;    ///< fraction of the rank's elements
  double sums = 0;     ///< seconds to send its gradients to their owners
  double weights = 0;  ///< seconds to send its weights to all ranks
};

/// How long a rank waits for the gradient sums after its last backward. The backward takes `backward` seconds and
/// finishes the last part of the model first.
double wait_for_sums(std::span<const PartSeconds> parts, double backward);

/// How long a rank waits for weights before and during its next forward, which takes `forward` seconds. Each part is
/// sent as soon as the optimizer, which takes `optimizer` seconds, has updated it.
double wait_for_weights(std::span<const PartSeconds> parts, double optimizer, double forward);

/// How long a rank waits in a step in which it exchanges gradients after each of `count` micro-batches. The parts of a
/// micro-batch are sent during its backward, and while the rank computes the next micro-batch for `compute` seconds.
double wait_for_turns(std::span<const PartSeconds> parts, double backward, double compute, std::uint32_t count);

}  // namespace titan::train
