#pragma once
// An exponential moving average that is right from its first value on. Pure.
#include <cstdint>

namespace titan::recipe {

/// s = w s + (1 - w) x, divided by 1 - w^n: the first value stands for itself and nothing is drawn towards 0.
class Ema {
 public:
  /// `weight` of what came before, 0 <= weight < 1.
  explicit Ema(double weight) : weight_(weight) {}
  /// The average with `value` in it. A value that is not finite changes nothing and comes back as it is.
  double add(double value);

 private:
  double weight_, sum_ = 0, missing_ = 1;  ///< missing_: w^n
};

}  // namespace titan::recipe
