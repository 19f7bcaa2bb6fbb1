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
/// neither file nor flags give. A flavour that was given gives all of them but RoPE's scaling, which a checkpoint that
/// says its model keeps. \error kIncompatible: a row that cannot be read
Result<LoadedConfig> with_model_of(const LoadedConfig& loaded, const ckpt::Settings& rows, const std::string& path);

/// Whether a configuration says which model it means: by a flavour, or by its width and depth.
bool asks_for_model(const LoadedConfig& loaded);
/// Of a new run without weights: fails where nobody asked for a model, and the default would train. \error kInvalid
Status check_model_asked(const LoadedConfig& loaded, const std::string& checkpoint_dir);

/// What neither the configuration nor the checkpoint says of the model, for people: "model.n_heads", ... What follows
/// from the number of heads and the shapes is left out. Empty where a flavour was given.
std::vector<std::string> unknown_model_keys(const LoadedConfig& loaded, const ckpt::Settings& rows);
/// Fails where neither the configuration nor the checkpoint says what a key of the model is, which the flavour's
/// default would decide in silence. \error kIncompatible
Status check_model_known(const LoadedConfig& loaded, const ckpt::Settings& rows, const std::string& path);

/// Where `dims` are another function than the checkpoint's rows describe, in key order. A checkpoint that says
/// everything else but not biases, scaling or tying has none.
std::vector<Drift> model_differences(const ModelDims& dims, const ckpt::Settings& rows);

/// Of a resume: keys of the model that the configuration which began the run must have given and `alone`, the one of
/// now, leaves out, as one line for people; "" when there are none, or when it is not known: a run that began from
/// weights (or elsewhere) may never have given them. `loaded`: `alone` with the checkpoint's `rows`.
std::string no_longer_given(const LoadedConfig& alone, const LoadedConfig& loaded, const ckpt::Settings& rows,
                            const ckpt::TrainState& state);

/// The checkpoint that keys of the model were taken from; "" when none was.
std::string model_source(const LoadedConfig& loaded);
/// "dim, n_layers, ... from checkpoint PATH"; "" when no key was taken from one.
std::string model_source_line(const LoadedConfig& loaded);

}  // namespace titan::recipe
