#pragma once
// Operations of a step, counted as torchtitan and most trainers publish them. Pure.

namespace titan::recipe {

struct RunPlan;

/// Per token, forward and backward: 6 for each weight of a matrix product, plus attention without a discount for
/// causality. Recomputed activations do not count.
double flops_per_token(const RunPlan& plan);

}  // namespace titan::recipe
