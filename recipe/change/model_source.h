#pragma once
// The model of a start that loads a checkpoint. The checkpoint gives what the configuration leaves open; what the
// configuration does give must agree with the checkpoint. Pure.
#include <string>
#include <vector>

#include "ckpt/model/settings.h"
#include "ckpt/model/train_state.h"
#include "recipe/change/drift.h"
#include "recipe/model/dims.h"

namespace titan::recipe {

struct LoadedConfig;

/// `loaded`, where every key of the model (dimensions, eps, RoPE, tying, biases) that neither file nor flags set has
/// the checkpoint's value. A given flavour sets all of them except RoPE's scaling: a checkpoint that describes its
/// model keeps its own scaling. \error kIncompatible: a row that cannot be read
Result<LoadedConfig> with_model_of(const LoadedConfig& loaded, const ckpt::Settings& rows, const std::string& path);

/// Whether a configuration names its model: by a flavour, or by its width and depth.
bool asks_for_model(const LoadedConfig& loaded);
/// For a new run without weights: fails if the configuration names no model, so that nobody trains the default by
/// mistake. \error kInvalid
Status check_model_asked(const LoadedConfig& loaded, const std::string& checkpoint_dir);

/// Keys of the model that neither the configuration nor the checkpoint sets, for people: "model.n_heads", ... Keys that
/// follow from the number of heads and the shapes are left out. Empty if a flavour is given.
std::vector<std::string> unknown_model_keys(const LoadedConfig& loaded, const ckpt::Settings& rows);
/// Fails if there are such keys, since the default flavour would set them silently. \error kIncompatible
Status check_model_known(const LoadedConfig& loaded, const ckpt::Settings& rows, const std::string& path);

/// Keys with which `dims` are another model than the checkpoint's rows describe, in key order. If the rows have every
/// dimension, a missing row for a switch (biases, scaling, tying) means that it is off.
std::vector<Drift> model_differences(const ModelDims& dims, const ckpt::Settings& rows);

/// For a resume: one line about keys of the model that the first configuration of the run must have set and the present
/// one, `alone`, does not. "" if there are none. Also "" if this is not known, since a run that started from weights or
/// at a later step may never have set them. `loaded` is `alone` with the checkpoint's `rows`.
std::string no_longer_given(const LoadedConfig& alone, const LoadedConfig& loaded, const ckpt::Settings& rows,
                            const ckpt::TrainState& state);

/// The checkpoint from which keys of the model were taken; "" if none were.
std::string model_source(const LoadedConfig& loaded);
/// "dim, n_layers, ... from checkpoint PATH"; "" if no key was taken from one.
std::string model_source_line(const LoadedConfig& loaded);

}  // namespace titan::recipe
