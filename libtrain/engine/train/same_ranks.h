#pragma once
// What all ranks must have alike before they train: devices, and the weights of a new run.
#include "ckpt/base/result.h"
#include "libtrain/engine/model/rank_stages.h"
#include "libtrain/job/talk/control.h"

namespace titan::train {

/// Compares digests of the masters of `stages`, over data-parallel copies and tied embeddings: each rank has drawn or
/// read them on its own, perhaps from a copy of the weights on its own machine. A resume need not ask: leaves have
/// digests that rank 0 sent. Collective, all ranks return the same. \error kIncompatible, naming a parameter
ckpt::Status agree_on_weights(Control& all, const recipe::RunPlan& plan, const RankStages& stages);

/// Compares what the ranks compute on: CPUs, or GPUs of one model with the same kernels and libraries. Drivers that
/// differ are warned of. \error throws StatusError, the same on all ranks: kInvalid, kIncompatible
void check_devices(Control& all);

}  // namespace titan::train
