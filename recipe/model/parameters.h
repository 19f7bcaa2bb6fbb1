#pragma once
// The parameters of a model. Pure.
#include <vector>

#include "ckpt/model/tensor_meta.h"
#include "recipe/model/dims.h"

namespace titan::recipe {

/// Names (Titan's) and shapes of a model's parameters in model order, stages unassigned (0).
std::vector<ckpt::ParameterMeta> model_parameters(const ModelDims& dims);

}  // namespace titan::recipe
