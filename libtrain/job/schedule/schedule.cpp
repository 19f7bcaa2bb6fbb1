#include "libtrain/job/schedule/schedule.h"

namespace titan::train {

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
