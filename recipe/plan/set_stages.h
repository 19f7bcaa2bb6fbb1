#pragma once
// A plan's stages from the layers of each. Pure.
#include <cstdint>
#include <vector>

#include "recipe/plan/run_plan.h"

namespace titan::recipe {

/// Writes cuts and the stage of each parameter. \error kInvalid: parameters that are not a Llama-style model's
Status set_stages(const std::vector<std::uint32_t>& layers_of_stage, RunPlan& plan);

}  // namespace titan::recipe
