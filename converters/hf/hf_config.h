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
/// setting that Titan cannot express, kIncompatible (a needed key is missing or has another type)
ckpt::Result<recipe::ModelDims> read_hf_config(const std::string& what, const JsonValue& config,
                                               const HfFamilies& families = hf_families());

/// Values that are written into a configuration in addition to the model's dimensions.
struct HfDefaults {
  std::string dtype = "float32";        ///< "float32", "bfloat16", "float16"
  std::uint64_t max_positions = 2048;   ///< context length in tokens; a longer context of `base` is kept
  std::uint64_t trained_positions = 0;  ///< sequence length of the latest training; 0: not known
};

/// Whether `base` describes exactly this model.
bool describes(const JsonValue& base, const recipe::ModelDims& model);

/// Makes a configuration that transformers 4 and 5 read, for a model of one of the families (family_for). `base` is the
/// configuration that the model came with (null: none). If `base` describes this model, only its dtype changes, and its
/// context length if that is shorter than the trained sequences. If `base` describes another model with the same
/// vocabulary, its special tokens and context are kept.
JsonValue write_hf_config(const recipe::ModelDims& model, const JsonValue& base, const HfDefaults& defaults,
                          const HfFamilies& families = hf_families());

}  // namespace titan::convert
