#pragma once
// The model of a DCP directory: dimensions from its tensors; heads, RoPE and eps from torchtitan's configuration.
#include <string>
#include <vector>

#include "ckpt/base/result.h"
#include "ckpt/model/settings.h"
#include "recipe/model/dims.h"
#include "recipe/model/from_shapes.h"

namespace titan::convert::dcp {

/// The model: dimensions from tensor shapes; the number of heads, RoPE and eps from the configuration (explicit
/// "model.*" rows, else the flavour, else torchtitan's defaults; with a known flavour RoPE is scaled as in torchtitan).
/// `what` names the checkpoint; `further` are other missing settings, which the error lists together with the model's.
/// \error kIncompatible: rows and shapes disagree, or the number of heads or RoPE is missing
ckpt::Result<recipe::ModelDims> model_of(const std::string& what, const recipe::Shapes& shapes,
                                         const ckpt::Settings& rows, const std::vector<std::string>& further);

}  // namespace titan::convert::dcp
