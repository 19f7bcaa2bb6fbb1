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
  for (const Span& span : spans_) {
    const bool named = span.name != nullptr;
    out.push_back({rank, named ? span.name : to_csv(span.action), named ? span.name : category_of(span.action.kind),
                   microseconds(span.start - origin), microseconds(span.end - span.start)});
  }
  // A nested span has ended before the span around it.
  std::ranges::stable_sort(out, {}, &TraceSpan::start_us);
  return out;
}

}  // namespace titan::train
