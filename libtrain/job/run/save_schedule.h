#pragma once
// When the next save of a run is due. Pure: it is told the time, in seconds on one clock.
#include <cstdint>
#include <optional>

#include "recipe/keys/config.h"

namespace titan::train {

/// Intervals in steps follow from what all ranks know. Of the others rank 0 decides, and tells the other ranks.
class SaveSchedule {
 public:
  SaveSchedule(const recipe::Config::Checkpoint& settings, double now);

  /// A save begins.
  void begun(double now) {
    since_ = now;
    begun_ = true;
  }
  /// It is over, and training waited `seconds` for it.
  void over(double seconds);
  void succeeded() {
    failures_ = tries_ = 0;
    pause_ = 0;
  }
  /// A save has failed; it `counts`, as all ranks were told. What does not follow the clock waits a little with the
  /// next one, and longer after each further failure.
  void failed(bool counts, double now);
  /// Rank 0's word: whether a failure of the save of `step` counts. One that came before its turn is only a try, and
  /// what fails within 10 s of the last that counted belongs to it: a disk that is full for seconds is one failure,
  /// however often a run saves.
  bool counts(std::uint64_t step, double now) const;
  /// A save has failed, and the next one is far: where the store answers, it may come before its turn.
  bool may_be_early(double now) const {
    return interval_.kind == recipe::SaveInterval::Kind::kSteps && pause_ > 0 && now >= not_before_;
  }
  /// How many have failed since the last one that did not, and counted.
  std::int64_t failures_in_a_row() const { return failures_; }
  /// The same, of all.
  std::int64_t tries_in_a_row() const { return tries_; }

  /// Rank 0's word.
  bool time_is_up(double now) const;
  /// The same on all ranks, which have heard rank 0's word. `busy`: a save is under way.
  bool due(std::uint64_t step, bool time_is_up, bool busy) const;
  /// The interval "auto" in seconds, once a save has shown its cost.
  std::optional<double> chosen_seconds() const;

 private:
  recipe::SaveInterval interval_;
  bool first_step_;
  double mtbf_;
  double since_;       ///< the last save began, or the run did
  double not_before_;  ///< after a failure
  double pause_ = 0;   ///< after the last one; 0: it was none
  std::int64_t failures_ = 0, tries_ = 0;
  double counted_ = 0;          ///< when the last of failures_ was
  bool begun_ = false;          ///< a save has
  std::optional<double> cost_;  ///< of "auto"
};

}  // namespace titan::train
