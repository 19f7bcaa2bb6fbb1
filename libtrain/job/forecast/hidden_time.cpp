#include "libtrain/job/forecast/hidden_time.h"

#include <algorithm>

namespace titan::train {

double wait_for_sums(std::span<const PartSeconds> parts, double backward) {
  double now = 0, done = 0;  // seconds since the backward began: when the backward, and the exchange, have finished the
                             // parts so far
  for (std::size_t i = parts.size(); i-- > 0;) {
    now += parts[i].share * backward;
    done = std::max(done, now) + parts[i].sums;
  }
  return std::max(0.0, done - now);
}

double wait_for_weights(std::span<const PartSeconds> parts, double optimizer, double forward) {
  double updated = 0, arrived = 0, computed = optimizer;
  for (const PartSeconds& part : parts) {
    updated += part.share * optimizer;
    arrived = std::max(arrived, updated) + part.weights;
    computed = std::max(computed, arrived) + part.share * forward;
  }
  return std::max(0.0, computed - optimizer - forward);
}

double wait_for_turns(std::span<const PartSeconds> parts, double backward, double compute, std::uint32_t count) {
  if (count == 0) return 0;
  double turn = 0;
  for (const PartSeconds& part : parts) turn += part.sums;
  return wait_for_sums(parts, backward) + (count - 1) * std::max(0.0, turn - compute);
}

}  // namespace titan::train
