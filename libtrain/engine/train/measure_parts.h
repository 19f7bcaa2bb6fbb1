#pragma once
// Measures the compute times of the embedding, one layer and the head, from which a plan estimates the times of stages.
#include "libtrain/job/host/measured_costs.h"

namespace titan::recipe {
struct RunPlan;
}

namespace titan::train {

/// The time of forward plus backward of each part, in seconds, for one micro-batch of `plan` on `threads` threads: the
/// median of 7 rounds.
PartTimes measure_parts(const recipe::RunPlan& plan, int threads);

}  // namespace titan::train
