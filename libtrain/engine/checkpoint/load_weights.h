#pragma once
// Loads weights of a checkpoint of any format into the parameters of a rank's stages.
#include "ckpt/base/cancel.h"
#include "ckpt/read/weight_source.h"
#include "libtrain/engine/model/rank_stages.h"
#include "libtrain/job/start/init_map.h"

namespace titan::train {

/// Reads the weights that `match` pairs with parameters into the fp32 master weights of `stages`. Stored fp16, bf16 and
/// fp64 values are converted to fp32. A parameter without a match keeps its value. The bf16 compute copies of `stages`
/// are not updated. \error kCorrupt, kFailed, kUnsupported (a stored type other than fp16, bf16, fp32, fp64),
/// kIncompatible (a NaN or infinite weight), kInterrupted, kTerminated (by `stop`)
ckpt::Status load_weights(const ckpt::WeightSource& source, const WeightMatch& match, const RankStages& stages,
                          const ckpt::CancelToken& stop = {});

}  // namespace titan::train
