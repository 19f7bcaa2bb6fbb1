#pragma once
// The model settings of a start that loads a checkpoint. Keys that the configuration does not set come from the
// checkpoint; keys that it does set must agree with the checkpoint. Pure.
#include <string>
#include <vector>

#include "ckpt/model/settings.h"
#include "ckpt/model/train_state.h"
#include "recipe/change/drift.h"
#include "recipe/model/dims.h"

namespace titan::recipe {

struct LoadedConfig;

/// Returns `loaded` with the value in `rows`, the settings of the checkpoint at `path`, for every model key
/// (dimensions, eps, RoPE, tying, biases) that neither the configuration file nor a flag sets. If a flavour is set, at
/// most RoPE's scaling is taken from `rows`: it is taken if `rows` have all dimensions of the model and neither file
/// nor flag sets it. \error kIncompatible: a row that cannot be read
Result<LoadedConfig> with_model_of(const LoadedConfig& loaded, const ckpt::Settings& rows, const std::string& path);

/// Whether a configuration specifies its model: by a flavour, or by its width and depth.
bool asks_for_model(const LoadedConfig& loaded);
/// For a new run from random weights: fails if the configuration specifies no model, so that nobody trains the default
/// flavour by mistake. \error kInvalid
Status check_model_asked(const LoadedConfig& loaded, const std::string& checkpoint_dir);

/// Model keys that neither the configuration nor the checkpoint sets, for messages: "model.n_heads", ... Keys that
/// follow from the number of heads and the shapes are not listed. Empty if a flavour is given.
std::vector<std::string> unknown_model_keys(const LoadedConfig& loaded, const ckpt::Settings& rows);
/// Fails if unknown_model_keys() is not empty, because the default flavour would silently set these keys. \error
/// kIncompatible
Status check_model_known(const LoadedConfig& loaded, const ckpt::Settings& rows, const std::string& path);

/// Keys in which `dims` differ from the model that the checkpoint's rows describe, in key order. If the rows have every
/// dimension, a missing row of a switch (biases, scaling, tying) means that it is off.
std::vector<Drift> model_differences(const ModelDims& dims, const ckpt::Settings& rows);

/// For a resume: one line that names the model keys which the run's first configuration must have set, and which the
/// present one (`alone`) does not set. "" if there are none. Also "" unless the run began at step 1 with random
/// weights, because the configurations of other runs may never have set these keys. `loaded` is `alone` plus the model
/// keys of the checkpoint's `rows`.
std::string no_longer_given(const LoadedConfig& alone, const LoadedConfig& loaded, const ckpt::Settings& rows,
                            const ckpt::TrainState& state);

/// The path of the checkpoint from which model keys were taken; "" if none were.
std::string model_source(const LoadedConfig& loaded);
/// "dim, n_layers, ... from checkpoint PATH"; "" if no key was taken from a checkpoint.
std::string model_source_line(const LoadedConfig& loaded);

}  // namespace titan::recipe
