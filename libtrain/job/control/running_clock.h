#pragma once
// A steady clock that stops while this process is stopped: by a signal, with its frozen container, or by its batch
// system. Peers must not be blamed for silence during that time.
#include <chrono>

namespace titan::train {

/// For waits of libraries whose own timeout must not end them: their clocks count time in which the process is stopped.
inline constexpr std::chrono::milliseconds kForEver = std::chrono::hours(24 * 365);

/// Subtracts the long gaps between calls of at(), in which the process was probably stopped. Pure, not thread-safe.
class GapFilter {
 public:
  using Time = std::chrono::steady_clock::time_point;

  explicit GapFilter(Time begin) : seen_(begin) {}
  /// `now` minus all gaps so far. Call it every kTick.
  Time at(Time now);

  static constexpr std::chrono::milliseconds kTick{250};
  static constexpr std::chrono::milliseconds kGap{2'500};  ///< shorter gaps stay: a busy machine causes them, too

 private:
  Time seen_;
  Time::duration left_out_{0};
};

/// The clock of this process; thread-safe. The first call starts a thread that calls the GapFilter often enough.
struct RunningClock {
  using duration = std::chrono::steady_clock::duration;
  using time_point = std::chrono::steady_clock::time_point;
  static time_point now();
};

}  // namespace titan::train
