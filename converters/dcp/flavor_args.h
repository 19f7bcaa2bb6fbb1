#pragma once
// The flavour of torchtitan's llama3 that a Titan model needs, since a DCP directory does not store heads, RoPE and
// eps.
#include <string>

#include "ckpt/base/result.h"
#include "recipe/model/dims.h"

namespace titan::convert::dcp {

/// Checks that torchtitan's llama3 can express `model`. `what` names the checkpoint in messages. \error kUnsupported:
/// head_dim is not dim / n_heads, as llama3's always is
ckpt::Status check_flavor(const std::string& what, const recipe::ModelDims& model);
/// The arguments of TransformerModelArgs for `model`, as text for the user.
std::string flavor_text(const recipe::ModelDims& model);
/// As flavor_text(), for torchtitan 0.3.0, whose models are composed of parts.
std::string newer_flavor_text(const recipe::ModelDims& model);

}  // namespace titan::convert::dcp
