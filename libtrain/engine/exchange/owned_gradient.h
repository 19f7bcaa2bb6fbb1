#pragma once
// What the exchange of gradients hands to the optimizer.
#include <ATen/core/Tensor.h>

#include "ckpt/plan/ownership.h"

namespace titan::train {

/// The gradient of one owned piece (fp32, 1-D, 64-byte aligned), summed over all M micro-batches; for a tied embedding
/// the head's tree root has been added. It may lie in the memory of the sums, which it then keeps.
struct OwnedGradient {
  ckpt::OwnedPiece piece;
  at::Tensor grad;
};

}  // namespace titan::train
