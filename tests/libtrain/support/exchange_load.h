#pragma once
// Elements that leave and reach the rank of a plan in one exchange.
#include <cstdint>

#include "libtrain/job/reduction/exchange_plan.h"

namespace titan::test {

struct Load {
  std::int64_t sent = 0, received = 0;
};

inline Load load_of_sums(const train::ExchangePlan& plan) {
  Load load;
  plan.for_swaps([&](const train::Swap& swap) {
    load.sent += swap.theirs.length();
    load.received += swap.mine.length();
  });
  for (const std::uint32_t rank : plan.partners()) {
    load.sent += plan.owners[rank].length() * plan.gives[rank].count;
    load.received += plan.owners[plan.me].length() * plan.takes[rank];
  }
  return load;
}

inline Load load_of_copies(const train::ExchangePlan& plan) {
  const Load sums = load_of_sums(plan);
  return {sums.received, sums.sent};
}

}  // namespace titan::test
