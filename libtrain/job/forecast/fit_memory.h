#pragma once
// Finds stage cuts that fit into parallelism.memory_limit, by the forecast of each rank's memory. Pure.
#include <cstdint>

#include "ckpt/base/result.h"

namespace titan::recipe {
struct Config;
struct RunPlan;
}  // namespace titan::recipe

namespace titan::train {

/// If a rank would need more than the limit, replaces the stage cuts of `plan` by the best cuts that fit.
/// `stored_global_batch`: the value that make_run_plan() took. \error kInvalid: no cut fits; names the lowest limit
/// that would work
ckpt::Status fit_memory(const recipe::Config& config, std::int64_t stored_global_batch, recipe::RunPlan& plan);

}  // namespace titan::train
