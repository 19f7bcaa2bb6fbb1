#pragma once
// The gradients that the exchange passes to the optimizer.
#include <ATen/core/Tensor.h>

#include "ckpt/plan/ownership.h"

namespace titan::train {

/// The gradient of one owned piece (fp32, 1-D, 64-byte aligned), summed over all M micro-batches; for a tied embedding
/// including the head's sum. `grad` may be a view into the memory of the sums, which it keeps alive.
struct OwnedGradient {
  ckpt::OwnedPiece piece;
  at::Tensor grad;
};

}  // namespace titan::train
