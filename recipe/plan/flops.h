#pragma once
// Floating-point operations of a step, counted as torchtitan and most trainers do. Pure.

namespace titan::recipe {

struct RunPlan;

/// Operations per token, forward and backward: 6 for each parameter that the token uses, without an untied embedding,
/// plus attention over all tokens of the sequence or window (no discount for causality). Recomputed activations do not
/// count.
double flops_per_token(const RunPlan& plan);

}  // namespace titan::recipe
