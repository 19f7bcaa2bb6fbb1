#pragma once
// Records the timeline of a rank's actions in a step. Costs one comparison per action if tracing is off.
#include <chrono>
#include <cstdint>
#include <vector>

#include "libtrain/job/metrics/chrome_trace.h"
#include "libtrain/job/schedule/schedule.h"

namespace titan::train {

class ActionTrace {
 public:
  /// The host's wall clock. Ranks of one host share it; between hosts it is as accurate as their synchronisation.
  using Clock = std::chrono::system_clock;

  /// Records the time from its construction to its destruction as a span of `trace`, unless that is null. An In within
  /// the lifetime of another In is shown nested.
  class In {
   public:
    In(ActionTrace* trace, const Action& action) : In(trace) { action_ = action; }
    /// `name` must be static; it is the category too.
    In(ActionTrace* trace, const char* name) : In(trace) { name_ = name; }
    ~In() {
      if (trace_ != nullptr) trace_->spans_.push_back({name_, action_, start_, Clock::now()});
    }
    In(const In&) = delete;
    In& operator=(const In&) = delete;

   private:
    explicit In(ActionTrace* trace) : trace_(trace) {
      if (trace_ != nullptr) start_ = Clock::now();
    }

    ActionTrace* trace_;
    const char* name_ = nullptr;  ///< null: the name of action_
    Action action_;
    Clock::time_point start_;
  };

  /// The recorded spans, ordered by start, in microseconds since `origin`.
  std::vector<TraceSpan> spans(int rank, Clock::time_point origin) const;

 private:
  struct Span {
    const char* name;
    Action action;
    Clock::time_point start, end;
  };
  std::vector<Span> spans_;
};

}  // namespace titan::train
