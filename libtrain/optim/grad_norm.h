#pragma once
// The norm of the whole gradient, and clipping by it.
#include <cstdint>
#include <vector>

#include "libtrain/parallel/communicator.h"
#include "libtrain/reduce/canonical.h"

namespace titan::train {

/// Sum of squares of one leaf: 16 fp64 lanes (element k to lane k mod 16), lanes added as a tree; independent of SIMD
/// width.
double leaf_sum_of_squares(const float* data, std::int64_t count);

/// Global L2 norm: per-leaf sums exchanged over all ranks, leaves added in index order per tensor, tensors in name
/// order. The same bits on every rank and layout; non-finite values come through as such.
double global_grad_norm(World& world, const recipe::RunPlan& plan, const std::vector<OwnedGradient>& grads);

/// min(1, max_norm / (norm + 1e-6)) in fp64; 1 when max_norm <= 0. `norm` must be finite: the caller stops before.
double clip_coefficient(double norm, double max_norm);

}  // namespace titan::train
