#pragma once
// Settings of a config.json that affect training, for a run that is continued with Titan.
#include <string>

#include "converters/format.h"

namespace titan::convert {

/// Takes the training settings of the config.json at `path` into the run in `plan`. If the model has experts and the
/// run's configuration does not set training.router_aux_loss (the weight of the router loss), sets it to the value in
/// config.json (0 if output_router_logits is not true there), or to transformers' default if `path` is "" or nothing is
/// there, and adds a note. Does nothing if `plan` has no run.
/// \error kIncompatible: the model was trained with dropout or with noise in the router, which Titan does not have, or
/// a member has another type; errors of reading the file
Status take_training_settings(Fs& fs, const std::string& path, ImportPlan& plan);

}  // namespace titan::convert
