#pragma once
// Weights of any checkpoint into the parameters of a stage.
#include "ckpt/io/weight_source.h"
#include "libtrain/model/stage.h"
#include "libtrain/start/init_map.h"

namespace titan::train {

/// Reads the matched weights of this stage's parameters into their fp32 masters, widening or rounding from the stored
/// type. What is not matched keeps its value. The caller refreshes the stage. \error kCorrupt, kFailed, kUnsupported
/// (integer weights)
ckpt::Status load_weights(const ckpt::WeightSource& source, const WeightMatch& match, Stage& stage);

}  // namespace titan::train
