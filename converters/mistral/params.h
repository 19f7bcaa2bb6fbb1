#pragma once
// Reads params.json of Mistral's own layout into the dimensions of a model.
#include <cstdint>
#include <optional>
#include <string>

#include "ckpt/base/result.h"
#include "ckpt/format/json_value.h"
#include "recipe/model/dims.h"

namespace titan::convert {

using ckpt::JsonValue;
using ckpt::parse_json;

/// Reads the model of `params`; `what` names the file in messages. \error kIncompatible: no object, or a key is missing
/// or has another type; kUnsupported: a key that may change what the model computes, and that Titan cannot express or
/// does not know; as recipe::check_dims
/// \source https://github.com/mistralai/mistral-inference, args.py and transformer.py
ckpt::Result<recipe::ModelDims> read_mistral_params(const std::string& what, const JsonValue& params);
/// The model's context length in tokens: max_position_embeddings of params.json, else max_seq_len, as in vLLM; nullopt
/// if neither is there.
std::optional<std::uint64_t> mistral_context(const JsonValue& params);

}  // namespace titan::convert
