#pragma once
// Checks what must be the same on all ranks before they train: devices, and the weights of a new run.
#include "ckpt/base/result.h"
#include "libtrain/engine/model/rank_stages.h"
#include "libtrain/job/control/control.h"

namespace titan::train {

/// Compares digests of the master weights of `stages` between data-parallel copies and tied embeddings, since each rank
/// has drawn or read them itself, perhaps from its own copy of the weights. Not needed for a resume, where rank 0 has
/// sent the leaf digests. Collective; all ranks return the same. \error kIncompatible, naming a parameter
ckpt::Status agree_on_weights(Control& all, const recipe::RunPlan& plan, const RankStages& stages);

/// Checks that all ranks compute on CPUs, or all on GPUs of one model with the same kernels and libraries. Warns if
/// drivers differ. \error throws StatusError, the same on all ranks: kInvalid, kIncompatible
void check_devices(Control& all);

}  // namespace titan::train
