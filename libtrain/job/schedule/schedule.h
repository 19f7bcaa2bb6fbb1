#pragma once
// Pipeline schedules as data: one list of actions per rank, run by a table-driven executor. Pure.
#include <cstdint>
#include <string>
#include <vector>

#include "ckpt/base/result.h"
#include "recipe/plan/schedule_kind.h"

namespace titan::train {

/// A backward is whole (B), or has two parts: the gradient of the stage's input (I), which the previous stage waits
/// for, and the gradients of the stage's matrices (W), which no stage waits for.
enum class ActionKind : std::uint8_t {
  kForward,
  kBackward,
  kBackwardInput,
  kBackwardWeight,
  kSendForward,
  kRecvForward,
  kSendBackward,
  kRecvBackward,
};

/// One cell of a schedule: `stage` acts on `micro_batch` (its number among the micro-batches of the data-parallel rank,
/// from 0). kSendForward of stage s pairs with kRecvForward of stage s+1 (an activation), kSendBackward of stage s with
/// kRecvBackward of stage s-1 (the gradient of an activation).
struct Action {
  ActionKind kind = ActionKind::kForward;
  std::uint32_t stage = 0;
  std::uint32_t micro_batch = 0;
  auto operator<=>(const Action&) const = default;
};

using ScheduleTable = std::vector<std::vector<Action>>;  ///< [rank][time order]

inline bool is_compute(ActionKind kind) { return kind <= ActionKind::kBackwardWeight; }
/// Whether the action computes the gradient of the stage's input.
inline bool gives_input_gradient(ActionKind kind) {
  return kind == ActionKind::kBackward || kind == ActionKind::kBackwardInput;
}

/// The table of the schedule `kind`, with compute actions only. \error kInvalid: see recipe::check_shape
ckpt::Result<ScheduleTable> make_schedule(recipe::ScheduleKind kind, const recipe::PipelineShape& shape);

/// The category in traces: "forward", "backward", "backward of inputs", "backward of weights", "send", "receive".
const char* category_of(ActionKind kind);

/// The action as a cell in torchtitan's format: "0F12", "0SEND_F12".
std::string to_csv(const Action& action);
/// The table in torchtitan's format: one line per rank.
std::string to_csv(const ScheduleTable& table);

}  // namespace titan::train
