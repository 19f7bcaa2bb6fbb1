#pragma once
// The model of a DCP directory with Hugging Face's names, from a nearby config.json or a configuration that the user
// gave.
#include <cstdint>
#include <optional>
#include <string>

#include "converters/format.h"
#include "recipe/model/dims.h"
#include "recipe/model/from_shapes.h"

namespace titan::convert::dcp {

/// What is known of the model of a directory with Hugging Face's names.
struct HfModel {
  std::optional<recipe::ModelDims> dims;  ///< nullopt: neither config.json nor configuration has all that is needed
  std::uint64_t head_dim = 0;             ///< may be known without `dims`; 0: not known
  std::string config_json;                ///< path of the config.json; empty if there is none
  Status unknown;                         ///< what is missing if `dims` is nullopt
};

/// Finds the model of the directory `path`: from the config.json that find_config() (dcp_companions.h) finds; if there
/// is none, from the configuration in `options` and from `shapes`, the shapes of the parameters by Titan's names.
/// \error kCorrupt, kUnsupported: the config.json; kIncompatible: the config.json lacks a key, or the configuration
/// disagrees with it (not checked with ImportOptions::look); kFailed
Result<HfModel> find_hf_model(Fs& fs, const std::string& path, const recipe::Shapes& shapes,
                              const ImportOptions& options);

}  // namespace titan::convert::dcp
