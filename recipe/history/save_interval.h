#pragma once
// How often to save: balances the cost of saves against the cost of failures. Pure. Times in seconds.
#include <cstdint>

namespace titan::recipe {

/// The training time between two saves that minimises the lost time, if a save stops training for `save` seconds and a
/// failure happens every `mtbf` seconds on average. `save` > 0, `mtbf` > 0. \source J. T. Daly, "A higher order
/// estimate of the optimum checkpoint interval" (2006); its first term is Young's sqrt(2 save mtbf)
double best_interval(double save, double mtbf);

/// The fraction of time that saves take (`saves`), and the fraction that is computed again after failures (`again`):
/// per failure, half an interval and one save. First-order estimates, as in Young's formula; their sum is at most 1.
struct LostShare {
  double saves = 0, again = 0;
  double sum() const { return saves + again; }
};
/// The lost share if a run saves every `interval` seconds.
LostShare lost_share(double interval, double save, double mtbf);

/// `interval` seconds as a number of steps of `step` seconds each, at least one.
std::uint64_t steps_of(double interval, double step);

}  // namespace titan::recipe
