#pragma once
// Settings of a config.json that affect training, for a run that is continued with Titan.
#include <string>

#include "converters/format.h"

namespace titan::convert {

/// Takes the training settings of the config.json at `path` into the run in `plan`. If the model has experts and the
/// run's configuration does not set training.router_aux_loss, sets it to the value in config.json, and notes it. Does
/// nothing if `plan` has no run. If `path` is "" or no file, the weight is transformers' default.
/// \error kIncompatible: the model was trained with dropout or with noise in the router, which Titan does not have, or
/// a member has another type; errors of reading the file
Status take_training_settings(Fs& fs, const std::string& path, ImportPlan& plan);

}  // namespace titan::convert
