#pragma once
// Converts between RoPE settings in configurations of transformers 4 and 5 and Titan's base and scaling.
#include "converters/hf/fields.h"
#include "recipe/model/dims.h"

namespace titan::convert {

/// Reads rope_theta (default `theta`) and rope_scaling from `fields` into `model`. Errors are set in `fields`:
/// kUnsupported for a scaling that Titan does not have, or that versions of transformers read differently;
/// kIncompatible for a key that is missing or has another type
void read_hf_rope(Fields& fields, double theta, recipe::ModelDims& model);

/// Adds the keys of RoPE that `config` lacks. transformers 5 reads one object (rope_parameters), transformers 4 reads
/// two keys (rope_theta, rope_scaling), and each ignores the other's. Existing keys stay.
void add_both_ropes(JsonValue& config, const recipe::ModelDims& model);

/// The context length in tokens to write into a configuration of `model`: `wanted`; with dynamic RoPE scaling the
/// original length, because transformers begins the scaling at the written length.
std::uint64_t written_context(const recipe::ModelDims& model, std::uint64_t wanted);

}  // namespace titan::convert
