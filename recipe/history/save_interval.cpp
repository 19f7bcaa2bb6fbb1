#include "recipe/history/save_interval.h"

#include <algorithm>
#include <cmath>

namespace titan::recipe {

double best_interval(double save, double mtbf) {
  // Daly's rule if failures come about as fast as saves: the interval is the mean time between failures.
  if (save >= 2 * mtbf) return mtbf;
  const double share = save / (2 * mtbf);
  return std::sqrt(2 * save * mtbf) * (1 + std::sqrt(share) / 3 + share / 9) - save;
}

LostShare lost_share(double interval, double save, double mtbf) {
  LostShare lost{save / (interval + save), (interval / 2 + save) / mtbf};
  lost.again = std::min(lost.again, 1 - lost.saves);
  return lost;
}

std::uint64_t steps_of(double interval, double step) {
  const double steps = std::round(interval / step);
  if (!(steps >= 1)) return 1;
  return steps >= 1e15 ? static_cast<std::uint64_t>(1e15) : static_cast<std::uint64_t>(steps);
}

}  // namespace titan::recipe
