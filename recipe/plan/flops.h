#pragma once
// Floating-point operations of a step, counted as torchtitan and most trainers do. Pure.

namespace titan::recipe {

struct RunPlan;

/// Operations per token, forward and backward: 6 for each weight of a matrix product, plus attention over all tokens of
/// the sequence (no discount for causality). Recomputed activations do not count.
double flops_per_token(const RunPlan& plan);

}  // namespace titan::recipe
