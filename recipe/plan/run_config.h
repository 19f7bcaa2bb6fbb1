#pragma once
// Loads the configuration of a run, and checks it beyond its single keys.
#include <string>
#include <vector>

#include "recipe/keys/loader.h"

namespace titan::recipe {

/// Checks that the dimensions of `config` make a model. Not checked if checkpoint.initial_load_path may give some of
/// them. \error as model_dims
Status check_model(const Config& config);

/// As load_config, followed by check_model.
Result<LoadedConfig> load_run_config(const std::string& path, const std::vector<std::string>& overrides = {},
                                     Status* refused = nullptr);

}  // namespace titan::recipe
