#pragma once
// Decides when the next save of a run is due. Pure: callers pass the time, in seconds of one clock.
#include <cstdint>
#include <optional>

#include "recipe/keys/interval.h"

namespace titan::train {

/// All ranks compute intervals in steps by themselves. For intervals in time rank 0 decides and tells the other ranks.
class SaveSchedule {
 public:
  /// `interval`, `first_step` and `mtbf_seconds` are the values of checkpoint.interval,
  /// checkpoint.enable_first_step_checkpoint and checkpoint.mtbf_seconds.
  SaveSchedule(recipe::SaveInterval interval, bool first_step, double mtbf_seconds, double now);

  /// Call this when a save begins.
  void begun(double now) {
    since_ = now;
    begun_ = true;
  }
  /// Call this when the save is over; training waited `seconds` for it.
  void over(double seconds);
  void succeeded() {
    failures_ = tries_ = 0;
    pause_ = 0;
  }
  /// Call it when a save has failed. `counts`: the result of counts() on rank 0, which rank 0 sends to all ranks. Early
  /// attempts (may_be_early()), and saves with the interval "continuous" or "auto", then wait for 30 s, and twice as
  /// long after each further failure, at most 16 min.
  void failed(bool counts, double now);
  /// Rank 0 only: whether a failure of the save of `step` counts. A failure of an early attempt does not count, nor one
  /// within 10 s of the last counted failure: a disk that is full for seconds is one failure, however often a run
  /// saves.
  bool counts(std::uint64_t step, double now) const;
  /// Whether the next save may be attempted before it is due, once the store accepts files again: a save has failed,
  /// and the interval is in steps.
  bool may_be_early(double now) const {
    return interval_.kind == recipe::SaveInterval::Kind::kSteps && pause_ > 0 && now >= not_before_;
  }
  /// Number of counted failures since the last successful save.
  std::int64_t failures_in_a_row() const { return failures_; }
  /// Number of failures since the last successful save, including those that do not count.
  std::int64_t tries_in_a_row() const { return tries_; }

  /// Rank 0 only: whether the clock asks for a save.
  bool time_is_up(double now) const;
  /// Whether to save `step`; the same on all ranks. `time_is_up`: rank 0's time_is_up(). `busy`: a save is in progress.
  bool due(std::uint64_t step, bool time_is_up, bool busy) const;
  /// The interval "auto" in seconds, once a save has shown its cost.
  std::optional<double> chosen_seconds() const;

 private:
  recipe::SaveInterval interval_;
  bool first_step_;
  double mtbf_;
  double since_;       ///< start of the last save, or of the run
  double not_before_;  ///< end of the wait after a failure, see failed()
  double pause_ = 0;   ///< the wait after the last failure; 0: the last save did not fail
  std::int64_t failures_ = 0, tries_ = 0;
  double counted_ = 0;          ///< time of the last counted failure
  bool begun_ = false;          ///< whether a save has begun
  std::optional<double> cost_;  ///< seconds that training waited for a save, for the interval "auto"
};

}  // namespace titan::train
