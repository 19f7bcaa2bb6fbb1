#include "recipe/plot/ema.h"

#include <cmath>

namespace titan::recipe {

double Ema::add(double value) {
  if (!std::isfinite(value)) return value;
  sum_ = weight_ * sum_ + (1 - weight_) * value;
  missing_ *= weight_;
  return sum_ / (1 - missing_);
}

}  // namespace titan::recipe
