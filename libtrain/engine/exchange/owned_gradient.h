#pragma once
// The gradients that the exchange passes to the optimizer.
#include <ATen/core/Tensor.h>

#include "ckpt/plan/ownership.h"

namespace titan::train {

/// The gradient of one piece that this rank owns, summed over the step's M micro-batches: fp32, 1-D, 64-byte aligned.
/// The gradient of a tied embedding includes the head's gradient. `grad` may be a view into the memory of the sums, and
/// keeps this memory alive.
struct OwnedGradient {
  ckpt::OwnedPiece piece;
  at::Tensor grad;
};

}  // namespace titan::train
