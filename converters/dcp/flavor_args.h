#pragma once
// The flavour of torchtitan's llama3 that a model of ours needs: a DCP directory says nothing of heads, RoPE and eps.
#include <string>

#include "ckpt/base/result.h"
#include "recipe/model/dims.h"

namespace titan::convert::dcp {

/// Can torchtitan's llama3 be this model? `what` names its holder. \error kUnsupported: its head_dim is always dim /
/// n_heads
ckpt::Status check_flavor(const std::string& what, const recipe::ModelDims& model);
/// The arguments of TransformerModelArgs that make `model`, for people.
std::string flavor_text(const recipe::ModelDims& model);
/// The same for torchtitan 0.3.0, whose models are made of parts.
std::string newer_flavor_text(const recipe::ModelDims& model);

}  // namespace titan::convert::dcp
