#pragma once
// What one leaf of a gradient brings to a norm, in an order of additions that does not depend on SIMD width.
#include <cstdint>

namespace titan::train {

/// Sum of squares: 16 fp64 lanes (element k to lane k mod 16), lanes added as a tree.
double leaf_sum_of_squares(const float* data, std::int64_t count);

/// The largest |x|; NaN where one is.
double leaf_max(const float* data, std::int64_t count);

/// Sum of |x / 2^exponent|^power in the same lanes. `power` from 1 to 16.
double leaf_power_sum(const float* data, std::int64_t count, int power, int exponent);

/// The exponent of the power of two at or below `most`; 0 where `most` is zero or not finite. What is divided by it is
/// below 2, so that no power of it overflows.
int norm_exponent(double most);

}  // namespace titan::train
