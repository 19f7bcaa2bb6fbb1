#include "libtrain/job/schedule/action_trace.h"

#include <algorithm>

namespace titan::train {
namespace {

double microseconds(ActionTrace::Clock::duration duration) {
  return std::chrono::duration<double, std::micro>(duration).count();
}

}  // namespace

std::vector<TraceSpan> ActionTrace::spans(int rank, Clock::time_point origin) const {
  std::vector<TraceSpan> out;
  for (const Piece& piece : pieces_) {
    const bool named = piece.name != nullptr;
    out.push_back({rank, named ? piece.name : to_csv(piece.action), named ? piece.name : category_of(piece.action.kind),
                   microseconds(piece.start - origin), microseconds(piece.end - piece.start)});
  }
  // A nested span has ended before the span around it.
  std::ranges::stable_sort(out, {}, &TraceSpan::start_us);
  return out;
}

}  // namespace titan::train
