#pragma once
// Weighted sums of tensors, element by element in fp64. Each product and each sum is rounded once, in call order.
#include <cstddef>
#include <span>

#include "ckpt/model/dtype.h"

namespace titan::ckpt {

/// sum[i] += weight * in[i]; with `first`, sum[i] = weight * in[i]. `in` has as many elements as `sum`, of the
/// floating-point type `dtype`, little-endian.
void add_weighted(DType dtype, std::span<const std::byte> in, double weight, bool first, std::span<double> sum);

/// Writes `sums` into `out` as elements of the floating-point type `dtype`, each rounded once to nearest, ties to even.
void round_sums(std::span<const double> sums, DType dtype, std::span<std::byte> out);

}  // namespace titan::ckpt
