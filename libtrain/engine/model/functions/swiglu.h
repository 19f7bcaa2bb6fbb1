#pragma once
// The end of a SwiGLU feed-forward: activation, gate and the down projection, as one autograd function. It saves only
// gate and up; the backward recomputes the rest.
#include <ATen/core/Tensor.h>

#include "libtrain/engine/model/functions/linear.h"

namespace titan::train {

/// (silu(gate) * up) w^T, [.., D]. gate and up are [.., F], w [D, F]; a bias is ignored.
/// \source Shazeer, GLU Variants Improve Transformer
at::Tensor swiglu_linear(const at::Tensor& gate, const at::Tensor& up, const LinearWeight& weight,
                         const ProductUse& use);

}  // namespace titan::train
