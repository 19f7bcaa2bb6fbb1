#pragma once
// Converts between config.json of transformers 4 and 5 and the dimensions of a model.
#include <string>

#include "ckpt/base/result.h"
#include "ckpt/format/json_value.h"
#include "converters/hf/families.h"
#include "recipe/model/dims.h"

namespace titan::convert {

using ckpt::JsonValue;
using ckpt::parse_json;

/// Reads the dimensions out of `config`; `what` names it in messages. \error kUnsupported naming the architecture or
/// setting that Titan cannot express, kIncompatible (no object, a needed key is missing or has another type, or two
/// keys contradict each other)
ckpt::Result<recipe::ModelDims> read_hf_config(const std::string& what, const JsonValue& config,
                                               const HfFamilies& families = hf_families());

/// Values that are written into a configuration in addition to the model's dimensions.
struct HfDefaults {
  std::string dtype = "float32";        ///< "float32", "bfloat16", "float16"
  std::uint64_t max_positions = 2048;   ///< context length in tokens, unless write_hf_config() keeps that of its `base`
  std::uint64_t trained_positions = 0;  ///< sequence length of the latest training; 0: not known
};

/// Whether the configuration `base` has exactly the dimensions of `model`; its other keys do not matter.
bool describes(const JsonValue& base, const recipe::ModelDims& model);

/// Makes a configuration that transformers 4 and 5 read, for a model of one of the families (family_for). `base` is the
/// configuration that the model came with (null: none). If `base` describes this model, it is kept, except that its
/// dtype is set, quantization_config is removed, keys that one of the two versions needs are added, and a context
/// length shorter than the trained sequences is raised to theirs. If `base` describes another model with a vocabulary
/// of the same size, its special tokens are kept, and its context length if that is longer.
JsonValue write_hf_config(const recipe::ModelDims& model, const JsonValue& base, const HfDefaults& defaults,
                          const HfFamilies& families = hf_families());

}  // namespace titan::convert
