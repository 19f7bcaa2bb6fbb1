#include "recipe/model/stored_dims.h"

#include <algorithm>

#include "recipe/keys/key_table.h"
#include "recipe/keys/toml_reader.h"

namespace titan::recipe {
Result<ModelDims> stored_dims(const ckpt::Settings& model_config, const std::string& path) {
  Config config;
  std::vector<std::string> missing;
  const auto take = [&](const char* name) -> Result<bool> {
    const auto row = std::ranges::find(model_config, name, &ckpt::Settings::value_type::first);
    if (row == model_config.end()) return false;
    const Status status = set_value(*find_key(name), parse_override_value(row->second), config);
    if (!status.ok()) return ckpt::incompatible(path + ": the stored configuration cannot be read: " + status.message);
    return true;
  };
  for (const char* name : kModelDimensions) {
    TITAN_ASSIGN_OR_RETURN(const bool there, take(name));
    if (!there) missing.push_back(name);
  }
  for (const char* name : kModelSwitches) {
    TITAN_ASSIGN_OR_RETURN(const bool there, take(name));
    (void)there;
  }
  if (!missing.empty()) {
    std::string names;
    for (const std::string& name : missing) names += (names.empty() ? "" : ", ") + name;
    return ckpt::incompatible(path + " does not say what model it holds: its configuration has no " + names)
        .with_hint(
            "convert the original with a configuration that says it: titan-ckpt convert ORIGINAL NEW --to titan "
            "--config FILE.toml, "
            "with these keys under [model] or a model.flavor");
  }
  auto dims = model_dims(config);
  if (!dims.ok()) return ckpt::incompatible(path + ": the stored model is impossible: " + dims.status().message);
  return dims;
}

RunPlan whole_model_plan(const ModelDims& dims, std::int64_t seq_len) {
  RunPlan plan;
  plan.dims = dims;
  plan.mesh = {1, 1, 1};
  plan.batch = {.micro = 1, .global = 1, .count = 1, .seq_len = seq_len};
  plan.schedule = "1F1B";
  plan.parameters = model_parameters(dims);
  plan.stage_share = {1};
  return plan;
}

}  // namespace titan::recipe
