#pragma once
// The shape of a stored model, from the configuration rows that a checkpoint carries.
#include <string>

#include "ckpt/model/schedule.h"
#include "libtrain/config/run_plan.h"

namespace titan::train {

/// Reads the rows "model.*" (key -> TOML text) of the checkpoint at `path`. Biases, scaling and tying may be absent: off.
/// \error kIncompatible: a dimension is missing or cannot be read
Result<ModelDims> stored_dims(const ckpt::Settings& model_config, const std::string& path);

/// A plan that holds a whole model of these dimensions on one rank, in float32, for `seq_len` tokens at a time.
RunPlan whole_model_plan(const ModelDims& dims, std::int64_t seq_len);

}  // namespace titan::train
