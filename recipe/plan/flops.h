#pragma once
// Operations of a step, counted as torchtitan and most trainers publish them. Pure.
#include "recipe/plan/run_plan.h"

namespace titan::recipe {

/// Per token, forward and backward: 6 for each weight of a matrix product, plus attention without a discount for
/// causality. Recomputed activations do not count.
double flops_per_token(const RunPlan& plan);

}  // namespace titan::recipe
