#pragma once
// The model of a DCP directory with torchtitan's names: dimensions from its tensors; heads, RoPE and eps from
// torchtitan's configuration.
#include <string>
#include <vector>

#include "ckpt/base/result.h"
#include "ckpt/model/settings.h"
#include "recipe/model/dims.h"
#include "recipe/model/from_shapes.h"

namespace titan::convert::dcp {

/// The model. Its dimensions come from `shapes`, the rest from the configuration's `rows`:
/// - the number of heads: the row model.n_heads; else the flavour. In a model with norms of queries and keys the shapes
///   give it, if there is no such row.
/// - RoPE: the rows "model.rope_*"; else as in torchtitan, if the flavour is known.
/// - eps: the row model.norm_eps; else torchtitan's default.
/// The flavour is the one that the rows name, else torchtitan's debugmodel. It is known if its dimensions are those of
/// `shapes`. `what` names the checkpoint in messages; `further` are other missing settings, which the error lists
/// together with the model's.
/// \error kIncompatible: rows and shapes disagree, the number of heads or RoPE is missing, the tensors of queries and
/// keys do not consist of whole heads, or the embedding or layer 0 is missing; kInvalid (read_torchtitan)
ckpt::Result<recipe::ModelDims> model_of(const std::string& what, const recipe::Shapes& shapes,
                                         const ckpt::Settings& rows, const std::vector<std::string>& further);

}  // namespace titan::convert::dcp
