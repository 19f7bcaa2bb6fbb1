#pragma once
// The shape of a stored model, from the configuration rows that a checkpoint carries.
#include <string>

#include "ckpt/model/settings.h"
#include "recipe/plan/run_plan.h"

namespace titan::recipe {

/// Keys that describe a model; the switches are off where a checkpoint has no row for them.
inline constexpr const char* kModelDimensions[] = {"model.dim",        "model.n_layers", "model.n_heads",
                                                   "model.n_kv_heads", "model.head_dim", "model.ffn_dim",
                                                   "model.vocab_size", "model.norm_eps", "model.rope_theta"};
inline constexpr const char* kModelSwitches[] = {"model.tied_embeddings", "model.qkv_bias", "model.rope_scaling"};

/// Reads the rows "model.*" (key -> TOML text) of the checkpoint at `path`. Biases, scaling and tying may be absent:
/// off. \error kIncompatible: a dimension is missing or cannot be read
Result<ModelDims> stored_dims(const ckpt::Settings& model_config, const std::string& path);

/// A plan that holds a whole model of these dimensions on one rank, in float32, for `seq_len` tokens at a time.
RunPlan whole_model_plan(const ModelDims& dims, std::int64_t seq_len);

}  // namespace titan::recipe
