#pragma once
// An exponential moving average with bias correction. Pure.
#include <cstdint>

namespace titan::recipe {

/// After n values x: s = w s + (1 - w) x, and the average is s / (1 - w^n). The average of one value is that value.
class Ema {
 public:
  /// `weight` of earlier values, 0 <= weight < 1.
  explicit Ema(double weight) : weight_(weight) {}
  /// Adds `value` and returns the average. A non-finite value is returned and otherwise ignored.
  double add(double value);

 private:
  double weight_, sum_ = 0, missing_ = 1;  ///< missing_: w^n
};

}  // namespace titan::recipe
