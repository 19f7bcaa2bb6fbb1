#pragma once
// The second half of a SwiGLU feed-forward: activation, gate and the following product. Saves only gate and up; the
// backward recomputes the rest.
#include <ATen/core/Tensor.h>

#include "libtrain/engine/model/functions/linear.h"

namespace titan::train {

/// (silu(gate) * up) w^T. gate and up [.., F], w [D, F]; a bias is not used.
/// \source Shazeer, GLU Variants Improve Transformer
at::Tensor swiglu_linear(const at::Tensor& gate, const at::Tensor& up, const LinearWeight& weight,
                         const ProductUse& use);

}  // namespace titan::train
