#pragma once
// Converts between RoPE settings in configurations of transformers 4 and 5 and Titan's base and scaling.
#include "converters/hf/fields.h"
#include "recipe/model/dims.h"

namespace titan::convert {

/// Reads rope_theta (`theta` if missing) and rope_scaling of `model`. An error goes to `fields`: kUnsupported for a
/// scaling that Titan does not have, or that versions of transformers read differently; kIncompatible for a key that is
/// missing or has another type
void read_hf_rope(Fields& fields, double theta, recipe::ModelDims& model);

/// Adds the keys of RoPE that `config` lacks: transformers 5 reads one object, transformers 4 two keys, and each
/// ignores the other's. Existing keys stay.
void add_both_ropes(JsonValue& config, const recipe::ModelDims& model);

/// The context length to write into a configuration of `model` for a wanted context `wanted`: with dynamic scaling,
/// scaling begins at the written length.
std::uint64_t written_context(const recipe::ModelDims& model, std::uint64_t wanted);

}  // namespace titan::convert
