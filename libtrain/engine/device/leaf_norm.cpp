#include "libtrain/engine/device/leaf_norm.h"

#include <cmath>
#include <limits>

namespace titan::train {
namespace {

constexpr int kLanes = 16;

/// The sum of term(x) over all elements, in the order of leaf_sum_of_squares().
template <typename Term>
double in_lanes(const float* data, std::int64_t count, Term term) {
  double lanes[kLanes] = {};
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    for (int k = 0; k < kLanes; ++k) lanes[k] += term(data[i + k]);
  for (int k = 0; i < count; ++i, ++k) lanes[k] += term(data[i]);
  for (int half = kLanes / 2; half >= 1; half /= 2)
    for (int k = 0; k < half; ++k) lanes[k] += lanes[k + half];
  return lanes[0];
}

// x^power by multiplications only: pow() would have other bits in another libm.
double power_of(double x, int power) {
  double result = 1;
  for (; power > 0; power >>= 1) {
    if ((power & 1) != 0) result *= x;
    x *= x;
  }
  return result;
}

}  // namespace

double leaf_sum_of_squares(const float* data, std::int64_t count) {
  return in_lanes(data, count, [](double x) { return x * x; });
}

double leaf_max(const float* data, std::int64_t count) {
  float most = 0;
  bool nan = false;
  for (std::int64_t i = 0; i < count; ++i) {
    const float x = std::fabs(data[i]);
    nan |= x != x;
    most = x > most ? x : most;
  }
  return nan ? std::numeric_limits<double>::quiet_NaN() : most;
}

double leaf_power_sum(const float* data, std::int64_t count, int power, int exponent) {
  const double scale = std::ldexp(1.0, -exponent);
  return in_lanes(data, count, [&](double x) { return power_of(std::fabs(x) * scale, power); });
}

int norm_exponent(double most) { return std::isfinite(most) && most > 0 ? std::ilogb(most) : 0; }

}  // namespace titan::train
