#pragma once
// The parameters of a model. Pure.
#include <vector>

#include "ckpt/model/tensor_meta.h"
#include "recipe/model/dims.h"

namespace titan::recipe {

/// Names and shapes of a model's parameters in model order (torchtitan v0.2.2 names), stages unassigned (0).
std::vector<ckpt::ParameterMeta> model_parameters(const ModelDims& dims);

}  // namespace titan::recipe
