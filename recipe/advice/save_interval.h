#pragma once
// How often to save: what saves cost against what a failure costs. Pure. Times in seconds.
#include <cstdint>

namespace titan::recipe {

/// The time of training between two saves that loses least, when a save stops training for `save` and failures come
/// every `mtbf` on average. J. T. Daly, "A higher order estimate of the optimum checkpoint interval" (2006); Young's
/// sqrt(2 save mtbf) is its first term. `save` > 0, `mtbf` > 0.
double best_interval(double save, double mtbf);

/// The shares of all time that saves take, and that is done again after failures: half an interval and the save for
/// each failure. First order, as Young's; at most 1.
struct LostShare {
  double saves = 0, again = 0;
  double sum() const { return saves + again; }
};
LostShare lost_share(double interval, double save, double mtbf);

/// `interval` in whole steps, at least one.
std::uint64_t steps_of(double interval, double step);

}  // namespace titan::recipe
