#pragma once
// Measures the compute times of embedding, one layer and head, for the stage cost model.
#include "libtrain/job/host/measured_costs.h"

namespace titan::recipe {
struct RunPlan;
}

namespace titan::train {

/// Forward and backward times of one micro-batch as in `plan`, on `threads` threads: medians of a few rounds.
PartTimes measure_parts(const recipe::RunPlan& plan, int threads);

}  // namespace titan::train
