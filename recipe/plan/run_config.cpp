#include "recipe/plan/run_config.h"

#include "recipe/keys/loader.h"
#include "recipe/model/dims.h"

namespace titan::recipe {

Status check_model(const Config& config) {
  return config.checkpoint.initial_load_path ? ckpt::ok_status() : model_dims(config).status();
}

Result<LoadedConfig> load_run_config(const std::string& path, const std::vector<std::string>& overrides,
                                     Status* refused) {
  TITAN_ASSIGN_OR_RETURN(LoadedConfig loaded, load_config(path, overrides, refused));
  TITAN_RETURN_IF_ERROR(check_model(loaded.config));
  return loaded;
}

}  // namespace titan::recipe
