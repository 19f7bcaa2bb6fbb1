#pragma once
// Operations of a step, as torchtitan and most trainers publish them. Pure.
#include "recipe/plan/run_plan.h"

namespace titan::recipe {

/// Of a token, forward and backward: 6 for each weight of a matrix product, and attention without a discount for
/// causality. What is computed again does not count.
double flops_per_token(const RunPlan& plan);

}  // namespace titan::recipe
