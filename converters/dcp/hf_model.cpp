#include "converters/dcp/hf_model.h"

#include "ckpt/base/text.h"
#include "ckpt/plan/lr_settings.h"
#include "converters/dcp/dcp_companions.h"
#include "converters/hf/hf_checkpoint.h"
#include "converters/hf/hf_plan.h"
#include "converters/model_agreement.h"
#include "recipe/model/manifest_dims.h"

namespace titan::convert::dcp {
namespace {

constexpr const char* kRopeScaling = "model.rope_scaling";

Settings model_rows_of(const Settings& config) {
  Settings rows = flavor_rows(config);
  for (const auto& row : config)
    if (row.first.starts_with("model.") && row.second != ckpt::kNotSet) rows = ckpt::with_rows(std::move(rows), {row});
  return rows;
}

}  // namespace

Result<HfModel> find_hf_model(Fs& fs, const std::string& path, const recipe::Shapes& shapes,
                              const ImportOptions& options) {
  HfModel found;
  TITAN_ASSIGN_OR_RETURN(found.config_json, find_config(fs, path));
  if (!found.config_json.empty()) {
    TITAN_ASSIGN_OR_RETURN(found.dims, read_hf_config_file(fs, found.config_json));
    if (options.config && !options.look) {
      TITAN_RETURN_IF_ERROR(
          agreed_rows(found.config_json, recipe::model_rows(*found.dims), *options.config, options.comparison)
              .status());
    }
    found.head_dim = static_cast<std::uint64_t>(found.dims->head_dim);
    return found;
  }
  found.unknown = ckpt::incompatible(path + " has Hugging Face's names and no " + kHfConfig +
                                     ": the numbers of heads, RoPE and eps are not in the tensors")
                      .with_hint(
                          "put the model's config.json into the folder, or give --config FILE.toml with "
                          "model.n_heads, model.norm_eps, model.rope_theta and model.rope_scaling");
  if (!options.config) return found;
  std::vector<ckpt::WeightInfo> tensors;
  for (const auto& [name, shape] : shapes) tensors.push_back({name, ckpt::DType::kF32, shape});
  Settings said = model_rows_of(*options.config);
  const std::string scaling = ckpt::setting(said, kRopeScaling);
  if (scaling == "\"none\"") std::erase_if(said, [](const auto& row) { return row.first == kRopeScaling; });
  const Settings known = recipe::known_model(said, tensors);
  Result<recipe::ModelDims> dims = recipe::dims_from_rows("the configuration", known);
  if (dims.ok() && scaling == ckpt::kNotSet)
    dims = ckpt::incompatible(std::string("the configuration does not say ") + kRopeScaling +
                              " (\"none\" without scaling)");
  if (dims.ok()) {
    found.dims = *dims;
    found.head_dim = static_cast<std::uint64_t>(dims->head_dim);
  } else {
    found.unknown = dims.status().wrapped(path + " has Hugging Face's names and no " + kHfConfig);
    found.head_dim = ckpt::number_of<std::uint64_t>(ckpt::setting(known, "model.head_dim")).value_or(0);
  }
  return found;
}

}  // namespace titan::convert::dcp
