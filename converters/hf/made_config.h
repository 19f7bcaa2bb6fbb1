#pragma once
// Makes a config.json from the text settings in a file of another format. This config.json travels with the model in
// Titan checkpoints, which have no other place for these settings.
#include <cstdint>
#include <optional>

#include "converters/format.h"
#include "recipe/model/dims.h"

namespace titan::convert {

/// Settings of a model's text that other formats store with the model.
struct TextSettings {
  std::optional<std::uint64_t> context;     ///< context length of the model, in tokens
  std::optional<std::uint64_t> begin, end;  ///< begin- and end-of-text tokens
};

/// Adds a config.json of `model` with the settings `said` to the companions of `plan`, unless `said` has no usable
/// value, `plan` has a config.json, or no Hugging Face architecture has the model's parts.
void add_made_config(const recipe::ModelDims& model, const TextSettings& said, ImportPlan& plan);

}  // namespace titan::convert
