#pragma once
// The model of a DCP directory: its tensors show its dimensions, torchtitan's configuration says heads, RoPE and eps.
#include <string>
#include <vector>

#include "ckpt/base/result.h"
#include "ckpt/model/settings.h"
#include "recipe/model/dims.h"
#include "recipe/model/from_shapes.h"

namespace titan::convert::dcp {

/// The model: its dimensions out of the shapes of its tensors, the number of heads, RoPE and eps out of the
/// configuration (explicit "model.*" rows, else the flavour, else torchtitan's defaults; with a known flavour RoPE is
/// scaled as torchtitan's are). `what` names the checkpoint; `further` are other settings that
/// nobody says, named with the model's so that one question is asked. \error kIncompatible: rows and shapes disagree,
/// or the number of heads, or RoPE, is not said
ckpt::Result<recipe::ModelDims> model_of(const std::string& what, const recipe::Shapes& shapes,
                                         const ckpt::Settings& rows, const std::vector<std::string>& further);

}  // namespace titan::convert::dcp
