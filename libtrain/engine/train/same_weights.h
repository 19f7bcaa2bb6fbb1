#pragma once
// Do all ranks that hold a parameter of a new run hold the same values? Each rank draws or reads them on its own,
// perhaps from a copy of the weights on its own machine. A resume need not ask: leaves have digests that rank 0 sent.
#include "ckpt/base/result.h"
#include "libtrain/engine/model/rank_stages.h"

namespace titan::train {

class Control;

/// Compares digests of the masters of `stage`, over data-parallel copies and tied embeddings; collective, all ranks
/// return the same. \error kIncompatible, naming a parameter
ckpt::Status agree_on_weights(Control& all, const recipe::RunPlan& plan, const RankStages& stages);

}  // namespace titan::train
