#pragma once
// The gradients that the exchange hands to the optimizer.
#include <ATen/core/Tensor.h>

#include "ckpt/plan/ownership.h"

namespace titan::train {

/// The gradient of one owned piece (fp32, 1-D, 64-byte aligned), summed over all M micro-batches; for a tied embedding
/// the root of the head's tree is included. `grad` may be a view of the memory of the sums, which it then keeps alive.
struct OwnedGradient {
  ckpt::OwnedPiece piece;
  at::Tensor grad;
};

}  // namespace titan::train
