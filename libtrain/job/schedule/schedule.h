#pragma once
// Pipeline schedules as data: one list of actions per rank, run by a table-driven executor. Pure.
#include <cstdint>
#include <string>
#include <vector>

#include "ckpt/base/result.h"
#include "recipe/plan/schedule_kind.h"

namespace titan::train {

/// A backward is whole (B), or in two parts: the gradient of the stage's input (I), which the stage before waits for,
/// and the gradients of its matrices (W), which nobody waits for.
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

inline bool is_compute(ActionKind kind) { return kind <= ActionKind::kBackwardWeight; }
/// Whether the action makes the gradient of the stage's input.
inline bool gives_input_gradient(ActionKind kind) {
  return kind == ActionKind::kBackward || kind == ActionKind::kBackwardInput;
}

/// Compute actions only. \error kInvalid: see recipe::check_shape
ckpt::Result<ScheduleTable> make_schedule(recipe::ScheduleKind kind, const recipe::PipelineShape& shape);

/// "forward", "backward", "backward of inputs", "backward of weights", "send", "receive".
const char* category_of(ActionKind kind);

/// "0F12", "0SEND_F12": torchtitan's cells.
std::string to_csv(const Action& action);
/// One line per rank.
std::string to_csv(const ScheduleTable& table);

}  // namespace titan::train
