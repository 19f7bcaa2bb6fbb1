#include "libtrain/job/schedule/schedule.h"

#include "libtrain/job/schedule/schedule_tables.h"

namespace titan::train {

ckpt::Result<ScheduleTable> make_schedule(recipe::ScheduleKind kind, const recipe::PipelineShape& shape) {
  using enum recipe::ScheduleKind;
  TITAN_RETURN_IF_ERROR(recipe::check_shape(kind, shape));
  switch (kind) {
    case kGPipe: return breadth_first(shape, false);
    case kLoopedBfs: return breadth_first(shape, true);
    case k1F1B: return one_forward_one_backward(shape);
    case kInterleaved1F1B: return interleaved(shape);
    case kZbH1:
    case kInterleavedZeroBubble: return interleaved_zero_bubble(shape);
    case kZbvZeroBubble: return zero_bubble_v(shape);
    case kDualPipeV: return dual_pipe_v(shape);
  }
  return ckpt::invalid("unknown schedule");
}

const char* category_of(ActionKind kind) {
  switch (kind) {
    case ActionKind::kForward: return "forward";
    case ActionKind::kBackward: return "backward";
    case ActionKind::kBackwardInput: return "backward of inputs";
    case ActionKind::kBackwardWeight: return "backward of weights";
    case ActionKind::kSendForward:
    case ActionKind::kSendBackward: return "send";
    case ActionKind::kRecvForward:
    case ActionKind::kRecvBackward: return "receive";
  }
  return "";
}

std::string to_csv(const Action& action) {
  constexpr const char* kNames[] = {"F", "B", "I", "W", "SEND_F", "RECV_F", "SEND_B", "RECV_B"};
  return std::to_string(action.stage) + kNames[static_cast<int>(action.kind)] + std::to_string(action.micro_batch);
}

std::string to_csv(const ScheduleTable& table) {
  std::string text;
  for (const std::vector<Action>& row : table) {
    for (std::size_t i = 0; i < row.size(); ++i) text += (i == 0 ? "" : ",") + to_csv(row[i]);
    text += '\n';
  }
  return text;
}

}  // namespace titan::train
