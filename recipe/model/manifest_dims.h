#pragma once
// Model dimensions as manifests store them: rows "model.*" of Manifest::config, as TOML text. Pure.
#include <string>
#include <vector>

#include "ckpt/model/settings.h"
#include "recipe/model/dims.h"

namespace titan::recipe {

/// The keys that describe a model, in two groups: dimensions, and switches. A switch without a row is off;
/// model.sliding_window_layers without a row means all layers.
inline constexpr const char* kModelDimensions[] = {"model.dim",        "model.n_layers", "model.n_heads",
                                                   "model.n_kv_heads", "model.head_dim", "model.ffn_dim",
                                                   "model.vocab_size", "model.norm_eps", "model.rope_theta"};
inline constexpr const char* kModelSwitches[] = {
    "model.tied_embeddings", "model.qkv_bias",          "model.qk_norm",        "model.rope_scaling",
    "model.whole_qk_norm",   "model.post_norm",         "model.sliding_window", "model.sliding_window_layers",
    "model.n_experts",       "model.experts_per_token", "model.route_norm"};
/// All keys that describe a model: the dimensions, then the switches.
std::vector<std::string> model_keys();

/// The rows that describe a model, in ascending order. Switches other than tied_embeddings have a row only if they are
/// on.
ckpt::Settings model_rows(const ModelDims& dims);

/// Reads the rows of model_rows(). Ignores other rows and rows that are "not set". Switches may be missing; so may
/// head_dim, if it is dim / n_heads. `what` names the source of the rows in messages. \error kIncompatible, which names
/// missing rows and rows of another type, or says why the dimensions make no model (check_dims)
Result<ModelDims> dims_from_rows(const std::string& what, const ckpt::Settings& rows);
/// As dims_from_rows, for a trainer that loads the checkpoint at `path`: no dimension may be missing.
/// \error kIncompatible
Result<ModelDims> stored_dims(const ckpt::Settings& rows, const std::string& path);

/// Whether the token ids of a model are bytes (id b is the byte b): whether the run of a checkpoint with these
/// configuration rows was trained on text with the byte tokenizer. False if the rows say nothing about the data.
bool reads_bytes(const ckpt::Settings& rows);

}  // namespace titan::recipe
