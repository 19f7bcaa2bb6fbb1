#pragma once
// Loads weights of a checkpoint of any format into the parameters of a rank's stages.
#include "ckpt/base/cancel.h"
#include "ckpt/read/weight_source.h"
#include "libtrain/engine/model/rank_stages.h"
#include "libtrain/job/start/init_map.h"

namespace titan::train {

/// Reads the matched weights into the fp32 master weights of the stages, widening or rounding from the stored type. A
/// parameter without a match keeps its value. The caller must refresh the stages' compute copies. \error kCorrupt,
/// kFailed, kUnsupported (integer weights), kInterrupted, kTerminated (by `stop`)
ckpt::Status load_weights(const ckpt::WeightSource& source, const WeightMatch& match, const RankStages& stages,
                          const ckpt::CancelToken& stop = {});

}  // namespace titan::train
