#pragma once
// The configuration of a run: loaded, and checked beyond its single keys.
#include <string>
#include <vector>

#include "recipe/keys/loader.h"

namespace titan::recipe {

/// Whether the dimensions of `config` make a model; not asked where checkpoint.initial_load_path may bring some of
/// them. \error as model_dims
Status check_model(const Config& config);

/// load_config, with check_model.
Result<LoadedConfig> load_run_config(const std::string& path, const std::vector<std::string>& overrides = {},
                                     Status* refused = nullptr);

}  // namespace titan::recipe
