#pragma once
// Checks what must be the same on all ranks before they train: devices, and the weights of a new run.
#include "ckpt/base/result.h"
#include "libtrain/engine/model/rank_stages.h"
#include "libtrain/job/control/control.h"

namespace titan::train {

/// Checks that all ranks that have a parameter (data-parallel ranks, tied embeddings) have the same master weights, by
/// comparing digests. Each rank has read the weights itself, perhaps from a copy of its own. Not needed for a resume,
/// where ranks check leaves by rank 0's digests. Collective; all ranks return the same. \error kIncompatible, naming a
/// parameter
ckpt::Status agree_on_weights(Control& all, const recipe::RunPlan& plan, const RankStages& stages);

/// Checks that all ranks compute on CPUs, or all on GPUs of one model with the same kernels and libraries. Warns if
/// drivers differ. Collective. \error throws StatusError, the same on all ranks: kInvalid, kIncompatible
void check_devices(Control& all);

}  // namespace titan::train
