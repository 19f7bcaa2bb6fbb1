#pragma once
// What of an exchange hides behind the computing, where it goes in parts (RunPlan::exchange_parts). Pure.
#include <cstdint>
#include <span>

namespace titan::train {

/// A part of what a rank exchanges, in model order.
struct PartSeconds {
  double share = 0;    ///< of the rank's elements
  double sums = 0;     ///< of its gradients to their owners
  double weights = 0;  ///< of its weights to all
};

/// How long a rank waits behind its last backward pass, which takes `backward` seconds and finishes the last part
/// first.
double wait_for_sums(std::span<const PartSeconds> parts, double backward);

/// How long it waits before and in its next forward pass, of `forward` seconds, where each part leaves as soon as the
/// optimizer, which takes `optimizer` seconds, has updated it.
double wait_for_weights(std::span<const PartSeconds> parts, double optimizer, double forward);

/// How long it waits in a step where it exchanges each of `count` micro-batches, part by part, from its backward pass
/// on, while it computes the next one for `compute` seconds.
double wait_for_turns(std::span<const PartSeconds> parts, double backward, double compute, std::uint32_t count);

}  // namespace titan::train
