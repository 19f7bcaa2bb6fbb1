#pragma once
// An exponential moving average with bias correction. Pure.
#include <cstdint>

namespace titan::recipe {

/// s = w s + (1 - w) x, divided by 1 - w^n: the first average is the first value.
class Ema {
 public:
  /// `weight` of earlier values, 0 <= weight < 1.
  explicit Ema(double weight) : weight_(weight) {}
  /// Adds `value` and returns the average. A value that is not finite changes nothing and is returned unchanged.
  double add(double value);

 private:
  double weight_, sum_ = 0, missing_ = 1;  ///< missing_: w^n
};

}  // namespace titan::recipe
