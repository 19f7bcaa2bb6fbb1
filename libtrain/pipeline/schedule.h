#pragma once
// Pipeline schedules as data: one list of actions per rank, run by a table-driven executor. Pure.
// \source GPipe: Huang et al. 2019; 1F1B: Narayanan et al., PipeDream-Flush / Megatron-LM 2021
#include <cstdint>
#include <string>
#include <vector>

#include "ckpt/base/result.h"

namespace titan::train {

enum class ActionKind : std::uint8_t { kForward, kBackward, kSendForward, kRecvForward, kSendBackward, kRecvBackward };

/// One cell: `stage` acts on `micro_batch` (local to the DP rank, 0-based within its block). kSendForward of stage s
/// pairs with kRecvForward of stage s+1 (an activation), kSendBackward of stage s with kRecvBackward of stage s-1 (its
/// gradient).
struct Action {
  ActionKind kind = ActionKind::kForward;
  std::uint32_t stage = 0;
  std::uint32_t micro_batch = 0;
  auto operator<=>(const Action&) const = default;
};

using ScheduleTable = std::vector<std::vector<Action>>;  ///< [rank][time order]

/// Compute actions only, for `stages` ranks (one stage each) and `micro_batches`. `name`: "GPipe" or "1F1B".
/// \error kUnsupported for torchtitan's other schedule names ("not supported yet"), kInvalid with "did you mean"
/// otherwise.
ckpt::Result<ScheduleTable> make_schedule(const std::string& name, std::uint32_t stages, std::uint32_t micro_batches);

/// Adds SEND/RECV actions by simulating all ranks: both sides of a transfer see one global order, so no deadlock, even
/// with sends and receives that block. Neighbouring stages on one rank hand over locally, without actions.
/// \error kInvalid: the table makes no progress, misses or repeats an action, has a stage on two ranks, or transfers
/// already.
ckpt::Result<ScheduleTable> lower_schedule(const ScheduleTable& compute);

struct Simulation {
  double makespan = 0;                        ///< in the unit of the costs
  double idle_share = 0;                      ///< bubble / (ranks * makespan)
  std::vector<std::uint32_t> peak_in_flight;  ///< per rank, micro-batches whose activations live at once
};
/// Event simulation with the given costs of forward and backward and a hop (latency between ranks, occupies neither).
/// \error as lower_schedule, and kInvalid for costs that are not positive (hop: negative).
ckpt::Result<Simulation> simulate(const ScheduleTable& compute, double forward, double backward, double hop);
/// The same with a cost of its own for the forward of each stage; a backward costs `backward` times its forward.
ckpt::Result<Simulation> simulate(const ScheduleTable& compute, const std::vector<double>& forward, double backward,
                                  double hop);

/// "0F0,0SEND_F0,..." one line per rank, torchtitan's cells; for error messages and tests.
std::string to_csv(const Action& action);
std::string to_csv(const ScheduleTable& table);

}  // namespace titan::train
