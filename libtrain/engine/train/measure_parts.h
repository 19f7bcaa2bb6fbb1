#pragma once
// Measures the times of the parts of stages: embedding, one layer, head.
#include "libtrain/job/host/measured_costs.h"

namespace titan::recipe {
struct RunPlan;
}

namespace titan::train {

/// Times of forward and backward of one micro-batch as in `plan`, on `threads` threads: medians of a few rounds.
PartTimes measure_parts(const recipe::RunPlan& plan, int threads);

}  // namespace titan::train
