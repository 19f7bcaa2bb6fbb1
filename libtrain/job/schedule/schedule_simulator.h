#pragma once
// Validates a schedule before a run starts, times it, and finds a deadlock-free order of transfers. Pure.
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "libtrain/job/schedule/schedule.h"

namespace titan::train {

/// Time of each action, per stage, in any unit; B takes `input` + `weight`.
struct ScheduleCosts {
  std::vector<double> forward, input, weight;
  double hop = 0;  ///< time of a transfer between ranks, which blocks neither rank

  /// The same costs for all stages.
  static ScheduleCosts equal(std::uint32_t stages, double forward, double input, double weight, double hop = 0);
};

struct Span {
  double start = 0, finish = 0;
};

struct Simulation {
  double makespan = 0;    ///< in the unit of the costs
  double idle_share = 0;  ///< idle time of all ranks / (ranks * makespan)
  /// Per rank, the maximum number of (stage, micro-batch) pairs whose activations are in memory. A pair counts from its
  /// F to its B. If its backward is in two parts (I and W), it counts to its W, which needs the inputs of linear
  /// layers.
  std::vector<std::uint32_t> peak_in_flight;
  std::vector<std::vector<Span>> spans;  ///< of each action of the table
};

/// Names an action of a row in errors; an empty function means names like "rank 1, 1B0".
using NameAction = std::function<std::string(std::size_t row, std::size_t action)>;

/// Simulates the table. \error kInvalid: the table has no action, misses or repeats one, has a stage on two ranks, has
/// transfers, or deadlocks; costs are for another number of stages, negative, not finite, or all 0
ckpt::Result<Simulation> simulate(const ScheduleTable& compute, const ScheduleCosts& costs,
                                  const NameAction& name = {});

/// Adds SEND/RECV actions by simulating all ranks. Both sides of a transfer follow one global order, so there is no
/// deadlock, even with blocking sends and receives. Neighbouring stages on one rank pass tensors directly, without
/// actions. \error as simulate()
ckpt::Result<ScheduleTable> lower_schedule(const ScheduleTable& compute);

}  // namespace titan::train
