#pragma once
// Measures the time of a step by part. One part is measured at a time, so parts never overlap.
#include <chrono>

namespace titan::train {

/// Seconds since `begin` on a monotonic clock.
inline double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// Seconds of a step on one rank.
struct StepTimes {
  double data = 0;      ///< reading tokens
  double forward = 0;   ///< of all micro-batches
  double backward = 0;  ///< with recomputation
  double pipeline = 0;  ///< waiting for other stages
  double exchange = 0;  ///< sending gradients to their owners; summing losses and norms over ranks
  double optimizer = 0;
  double gather = 0;  ///< receiving weights from their owners
  double save = 0;    ///< waiting for a background save
  double other = 0;
};

class StepClock {
 public:
  using Part = double StepTimes::*;

  /// Sets all times to zero for a new step.
  void start() {
    times_ = {};
    last_ = Clock::now();
  }
  /// Runs `body` and adds its time to `part`.
  template <typename Body>
  auto time(Part part, const Body& body) {
    const In in(*this, part);
    return body();
  }
  /// The times of the parts so far.
  StepTimes read() {
    enter(part_);
    return times_;
  }

  /// Adds its lifetime to `part`, except the time of a nested In.
  class In {
   public:
    In(StepClock& clock, Part part) : clock_(clock), before_(clock.enter(part)) {}
    ~In() { clock_.enter(before_); }
    In(const In&) = delete;
    In& operator=(const In&) = delete;

   private:
    StepClock& clock_;
    Part before_;
  };

 private:
  using Clock = std::chrono::steady_clock;

  Part enter(Part part) {
    const Clock::time_point now = Clock::now();
    times_.*part_ += std::chrono::duration<double>(now - last_).count();
    last_ = now;
    const Part before = part_;
    part_ = part;
    return before;
  }

  StepTimes times_;
  Part part_ = &StepTimes::other;
  Clock::time_point last_ = Clock::now();
};

}  // namespace titan::train
