#pragma once
// A gradient leaf's contribution to a norm. The order of addition does not depend on SIMD width.
#include <cstdint>

namespace titan::train {

/// Sum of squares in fp64. Element k is added to partial sum k mod 16; then the 16 partial sums are added as a tree.
double leaf_sum_of_squares(const float* data, std::int64_t count);

/// The largest |x|; NaN if any x is NaN.
double leaf_max(const float* data, std::int64_t count);

/// Sum of |x / 2^exponent|^power in fp64, added in the order of leaf_sum_of_squares(). `power` is from 1 to 16.
double leaf_power_sum(const float* data, std::int64_t count, int power, int exponent);

/// The exponent e of the largest power of two 2^e that is at most `most`; 0 if `most` is zero or not finite. Values up
/// to `most`, divided by 2^e, are below 2, so their powers do not overflow.
int norm_exponent(double most);

}  // namespace titan::train
