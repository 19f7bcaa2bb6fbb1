#pragma once
// The model of a start that loads a checkpoint. The checkpoint gives what the configuration leaves open; what the
// configuration says must agree. Pure.
#include <string>
#include <vector>

#include "ckpt/model/settings.h"
#include "ckpt/model/train_state.h"
#include "recipe/change/drift.h"
#include "recipe/keys/loader.h"
#include "recipe/model/dims.h"

namespace titan::recipe {

/// `loaded` with the checkpoint's values of the model's dimensions, eps, RoPE, tying and biases under every key that
/// neither file nor flags give. A given flavour gives all of them except RoPE's scaling: a checkpoint that describes
/// its model keeps its own scaling. \error kIncompatible: a row that cannot be read
Result<LoadedConfig> with_model_of(const LoadedConfig& loaded, const ckpt::Settings& rows, const std::string& path);

/// Whether a configuration says which model it means: by a flavour, or by its width and depth.
bool asks_for_model(const LoadedConfig& loaded);
/// For a new run without weights: fails when the configuration names no model, so that the default does not train
/// unasked. \error kInvalid
Status check_model_asked(const LoadedConfig& loaded, const std::string& checkpoint_dir);

/// Keys of the model that neither the configuration nor the checkpoint gives, for people: "model.n_heads", ... Keys
/// that follow from the number of heads and the shapes are left out. Empty when a flavour was given.
std::vector<std::string> unknown_model_keys(const LoadedConfig& loaded, const ckpt::Settings& rows);
/// Fails when there are such keys: the default flavour would fill them in silently. \error kIncompatible
Status check_model_known(const LoadedConfig& loaded, const ckpt::Settings& rows, const std::string& path);

/// Keys in which `dims` compute another function than the checkpoint's rows describe, in key order. If a checkpoint
/// gives everything but biases, scaling or tying, it has none of these.
std::vector<Drift> model_differences(const ModelDims& dims, const ckpt::Settings& rows);

/// For a resume: keys of the model that the first configuration of the run must have given, and the present one,
/// `alone`, leaves out, as one line for people. "" when there are none, or when it is not known: a run that began from
/// weights (or elsewhere) may never have given them. `loaded`: `alone` with the checkpoint's `rows`.
std::string no_longer_given(const LoadedConfig& alone, const LoadedConfig& loaded, const ckpt::Settings& rows,
                            const ckpt::TrainState& state);

/// The checkpoint that keys of the model were taken from; "" when none was.
std::string model_source(const LoadedConfig& loaded);
/// "dim, n_layers, ... from checkpoint PATH"; "" when no key was taken from one.
std::string model_source_line(const LoadedConfig& loaded);

}  // namespace titan::recipe
