#pragma once
// Makes a config.json from the text settings in a file of another format. It travels with the model in Titan
// checkpoints, which have no other place for these settings.
#include <cstdint>
#include <optional>

#include "converters/format.h"
#include "recipe/model/dims.h"

namespace titan::convert {

struct TextSettings {
  std::optional<std::uint64_t> context;     ///< tokens of the texts that the model was made for
  std::optional<std::uint64_t> begin, end;  ///< tokens that begin and end a text
};

/// Adds the config.json of `model` to the companions of `plan`; does nothing if `said` is empty, or `plan` has one.
void add_made_config(const recipe::ModelDims& model, const TextSettings& said, ImportPlan& plan);

}  // namespace titan::convert
