#pragma once
// config.json of transformers 4 and 5 <-> the dimensions of a model.
#include <string>

#include "ckpt/base/result.h"
#include "converters/hf/json_value.h"
#include "converters/model_config.h"

namespace titan::convert {

/// Reads the dimensions out of `config`; `what` names it in messages. \error kUnsupported naming the architecture or setting that we
/// cannot express, kCorrupt (a needed key is missing or has another type)
ckpt::Result<ModelConfig> read_hf_config(const std::string& what, const JsonValue& config);

/// Settings that belong to a folder but not to a model of ours.
struct HfDefaults {
  std::string torch_dtype = "float32";                ///< "float32", "bfloat16", "float16"
};

/// A configuration that transformers 4 and 5 read. `base` is one that the model came with (null: none): its other keys are
/// kept. \error kUnsupported (a model that no architecture of theirs describes)
ckpt::Result<JsonValue> write_hf_config(const ModelConfig& model, const JsonValue& base, const HfDefaults& defaults);

}  // namespace titan::convert
