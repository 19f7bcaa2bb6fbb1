#pragma once
// Loads the configuration of a run, and checks its model, which involves several keys.
#include <string>
#include <vector>

#include "ckpt/base/result.h"

namespace titan::recipe {

struct Config;
struct LoadedConfig;

/// Checks that the dimensions of `config` make a valid model. Checks nothing if checkpoint.initial_load_path is set,
/// because that checkpoint may give some of them. \error as model_dims
ckpt::Status check_model(const Config& config);

/// As load_config, followed by check_model.
ckpt::Result<LoadedConfig> load_run_config(const std::string& path, const std::vector<std::string>& overrides = {},
                                           ckpt::Status* refused = nullptr);

}  // namespace titan::recipe
