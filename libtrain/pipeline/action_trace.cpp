#include "libtrain/pipeline/action_trace.h"

#include <algorithm>

namespace titan::train {
namespace {

double microseconds(ActionTrace::Clock::duration duration) {
  return std::chrono::duration<double, std::micro>(duration).count();
}

}  // namespace

const char* trace_category(ActionKind kind) {
  switch (kind) {
    case ActionKind::kForward: return "forward";
    case ActionKind::kBackward: return "backward";
    case ActionKind::kBackwardInput: return "backward_input";
    case ActionKind::kBackwardWeight: return "backward_weight";
    case ActionKind::kSendForward:
    case ActionKind::kSendBackward: return "send";
    case ActionKind::kRecvForward:
    case ActionKind::kRecvBackward: break;
  }
  return "receive";
}

std::vector<TraceSpan> ActionTrace::spans(std::uint32_t rank, Clock::time_point origin) const {
  std::vector<TraceSpan> out;
  for (const Piece& piece : pieces_) {
    const bool named = piece.name != nullptr;
    out.push_back({rank, named ? piece.name : to_csv(piece.action),
                   named ? piece.name : trace_category(piece.action.kind), microseconds(piece.start - origin),
                   microseconds(piece.end - piece.start)});
  }
  // What lies within another has ended before it.
  std::ranges::stable_sort(out, {}, &TraceSpan::start_us);
  return out;
}

}  // namespace titan::train
