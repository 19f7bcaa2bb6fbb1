#pragma once
// A gradient leaf's contribution to a norm. The order of addition does not depend on SIMD width.
#include <cstdint>

namespace titan::train {

/// Sum of squares: 16 fp64 lanes (element k to lane k mod 16), lanes added as a tree.
double leaf_sum_of_squares(const float* data, std::int64_t count);

/// The largest |x|; NaN if any x is NaN.
double leaf_max(const float* data, std::int64_t count);

/// Sum of |x / 2^exponent|^power, in 16 fp64 lanes as above. `power` from 1 to 16.
double leaf_power_sum(const float* data, std::int64_t count, int power, int exponent);

/// The exponent of the largest power of two that is at most `most`; 0 if `most` is zero or not finite. Values divided
/// by this power of two are below 2, so their powers do not overflow.
int norm_exponent(double most);

}  // namespace titan::train
