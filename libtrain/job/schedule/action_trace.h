#pragma once
// What a rank did when in a step, as measured. Where nothing is traced it costs one comparison an action.
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "libtrain/job/metrics/chrome_trace.h"
#include "libtrain/job/schedule/schedule.h"

namespace titan::train {

class ActionTrace {
 public:
  /// The host's clock: ranks of one host agree on it, others as well as their clocks are set.
  using Clock = std::chrono::system_clock;

  /// One of this life goes into `trace`, unless that is null. What lies within another is shown within it.
  class In {
   public:
    In(ActionTrace* trace, const Action& action) : In(trace) { action_ = action; }
    /// `name`, of a static lifetime, is its category, too.
    In(ActionTrace* trace, const char* name) : In(trace) { name_ = name; }
    ~In() {
      if (trace_ != nullptr) trace_->pieces_.push_back({name_, action_, start_, Clock::now()});
    }
    In(const In&) = delete;
    In& operator=(const In&) = delete;

   private:
    explicit In(ActionTrace* trace) : trace_(trace) {
      if (trace_ != nullptr) start_ = Clock::now();
    }

    ActionTrace* trace_;
    const char* name_ = nullptr;  ///< null: the action's
    Action action_;
    Clock::time_point start_;
  };

  /// In the order of their starts, in microseconds since `origin`.
  std::vector<TraceSpan> spans(int rank, Clock::time_point origin) const;

 private:
  struct Piece {
    const char* name;
    Action action;
    Clock::time_point start, end;
  };
  std::vector<Piece> pieces_;
};

}  // namespace titan::train
