#pragma once
// model_config.json and checkpoint_metadata.json of a nanotron checkpoint.
#include <optional>
#include <string>

#include "ckpt/format/json_value.h"
#include "converters/hf/made_config.h"
#include "recipe/model/dims.h"

namespace titan::convert::nanotron {

using ckpt::JsonValue;

inline constexpr const char* kModelConfig = "model_config.json";
inline constexpr const char* kMetadata = "checkpoint_metadata.json";

/// The model that model_config.json describes.
struct Model {
  recipe::ModelDims dims;
  /// Whether rows of queries and keys are in interleaved order, as Titan's are (rope_interleaved); nullopt if the file
  /// does not say.
  std::optional<bool> interleaved;
  TextSettings texts;
};

/// Reads model_config.json; `what` names the file in messages. \error kIncompatible: no object, or a key is missing or
/// of another kind; kUnsupported: another class than nanotron's Llama or Qwen2, or a key that may change what the model
/// computes and that Titan cannot express or does not know; as recipe::check_dims
/// \source https://github.com/huggingface/nanotron, config/models_config.py
ckpt::Result<Model> read_model_config(const std::string& what, const JsonValue& config);

/// Facts about the run in checkpoint_metadata.json.
struct Position {
  std::uint64_t tp = 1, dp = 1;                ///< degrees; 1 if the file does not say
  std::optional<std::uint64_t> step, samples;  ///< trained so far; nullopt if the file does not say
};
/// Reads checkpoint_metadata.json. \error kIncompatible: there is no version, or a count is not a whole number up to
/// 2^53; kUnsupported: another version than 1.2 to 1.5
ckpt::Result<Position> read_metadata(const std::string& what, const JsonValue& metadata);

}  // namespace titan::convert::nanotron
