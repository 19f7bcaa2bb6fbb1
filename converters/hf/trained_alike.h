#pragma once
// What a config.json says of the training of its model, where a run goes on here.
#include <string>

#include "converters/format.h"

namespace titan::convert {

/// Takes from the config.json at `path` what a run of its model needs: adds training.router_aux_loss to the run in
/// `plan` if the model has experts and the configuration does not say it, and notes for what changes the loss. Without
/// a run in `plan` nothing is done; "" or a path where there is no file: nobody says it.
/// \error kIncompatible: the model is another function while it trains (dropout, noise in the router), or a member of
/// another type; those of reading
Status take_trained_alike(Fs& fs, const std::string& path, ImportPlan& plan);

}  // namespace titan::convert
