#pragma once
// Stages that fit into parallelism.memory_limit, by the forecast of each rank's memory. Pure.
#include <cstdint>

#include "ckpt/base/result.h"
#include "recipe/keys/config.h"
#include "recipe/plan/run_plan.h"

namespace titan::train {

/// Cuts the stages of `plan` anew where a rank would need more than the limit: the best cut of those that fit.
/// `stored_global_batch`: as make_run_plan took it. \error kInvalid: none fits, naming the least limit that would do
ckpt::Status fit_memory(const recipe::Config& config, std::int64_t stored_global_batch, recipe::RunPlan& plan);

}  // namespace titan::train
