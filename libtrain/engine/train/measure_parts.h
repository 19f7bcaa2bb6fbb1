#pragma once
// Times what stages are made of: embedding, one layer, head.
#include "libtrain/job/host/measured_costs.h"
#include "recipe/plan/run_plan.h"

namespace titan::train {

/// Forward and backward of one micro-batch as `plan` has them, on `threads` threads: the median of a few rounds.
PartTimes measure_parts(const recipe::RunPlan& plan, int threads);

}  // namespace titan::train
