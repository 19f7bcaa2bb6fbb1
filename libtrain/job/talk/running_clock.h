#pragma once
// A steady clock that stands still while the process does: stopped by a signal, frozen with its container, suspended by
// its batch system. What others did not do meanwhile is no fault of theirs.
#include <chrono>

namespace titan::train {

/// Leaves long gaps between two looks out. Pure, not thread-safe.
class GapFilter {
 public:
  using Time = std::chrono::steady_clock::time_point;

  explicit GapFilter(Time begin) : seen_(begin) {}
  /// `now` less what lay in gaps so far; to be called every kTick.
  Time at(Time now);

  static constexpr std::chrono::milliseconds kTick{250};
  static constexpr std::chrono::milliseconds kGap{2'500};  ///< a shorter one is a busy machine

 private:
  Time seen_;
  Time::duration left_out_{0};
};

/// Of this process; thread-safe. The first call starts a thread that looks often enough.
struct RunningClock {
  using duration = std::chrono::steady_clock::duration;
  using time_point = std::chrono::steady_clock::time_point;
  static time_point now();
};

}  // namespace titan::train
