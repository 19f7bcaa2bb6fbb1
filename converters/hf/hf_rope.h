#pragma once
// What configurations of transformers 4 and 5 say of RoPE <-> its base and scaling.
#include "converters/hf/fields.h"
#include "recipe/model/dims.h"

namespace titan::convert {

/// Reads rope_theta (`theta` where none is said) and rope_scaling of `model`. An error goes to `fields`: kUnsupported
/// for a scaling that we have not, or that the versions of transformers read differently; kIncompatible for what is
/// missing or has another type
void read_hf_rope(Fields& fields, double theta, recipe::ModelDims& model);

/// transformers 5 reads one object, transformers 4 two keys, and each passes over the other's in silence: adds those
/// that `config` lacks. What is there stays as it is.
void add_both_ropes(JsonValue& config, const recipe::ModelDims& model);

/// The context that a configuration of `model` has where `wanted` is meant: dynamic scaling begins at it.
std::uint64_t written_context(const recipe::ModelDims& model, std::uint64_t wanted);

}  // namespace titan::convert
