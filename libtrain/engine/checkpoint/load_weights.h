#pragma once
// Loads weights of any checkpoint into the parameters of a rank's stages.
#include "ckpt/base/cancel.h"
#include "ckpt/read/weight_source.h"
#include "libtrain/engine/model/rank_stages.h"
#include "libtrain/job/start/init_map.h"

namespace titan::train {

/// Reads the matched weights of the stages' parameters into their fp32 masters, widening or rounding from the stored
/// type. A parameter without a match keeps its value. The caller refreshes the stages. \error kCorrupt, kFailed,
/// kUnsupported (integer weights), kInterrupted, kTerminated (by `stop`)
ckpt::Status load_weights(const ckpt::WeightSource& source, const WeightMatch& match, const RankStages& stages,
                          const ckpt::CancelToken& stop = {});

}  // namespace titan::train
