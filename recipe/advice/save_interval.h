#pragma once
// How often to save: balances the cost of saves against that of failures. Pure. Times in seconds.
#include <cstdint>

namespace titan::recipe {

/// The training time between two saves that loses the least, if a save stops training for `save` and a failure comes
/// every `mtbf` on average. J. T. Daly, "A higher order estimate of the optimum checkpoint interval" (2006); Young's
/// sqrt(2 save mtbf) is its first term. `save` > 0, `mtbf` > 0.
double best_interval(double save, double mtbf);

/// The share of all time that saves take, and the share that is repeated after failures: half an interval and the save,
/// for each failure. First order, as in Young's formula; at most 1.
struct LostShare {
  double saves = 0, again = 0;
  double sum() const { return saves + again; }
};
LostShare lost_share(double interval, double save, double mtbf);

/// `interval` as a number of steps of `step` seconds, at least one.
std::uint64_t steps_of(double interval, double step);

}  // namespace titan::recipe
