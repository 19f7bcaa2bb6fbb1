#include "libtrain/job/run/save_schedule.h"

#include <algorithm>
#include <utility>

#include "recipe/history/save_interval.h"

namespace titan::train {
namespace {

using Kind = recipe::SaveInterval::Kind;

// Seconds: a save to a full disk is not retried at every step.
constexpr double kAfterFailure = 30, kMostAfterFailure = 960;
constexpr double kOneFailure = 10;
constexpr double kLeastCost = 0.0001;  // seconds: a cost too small to measure is not zero

}  // namespace

SaveSchedule::SaveSchedule(recipe::SaveInterval interval, bool first_step, double mtbf_seconds, double now)
    : interval_(std::move(interval)), first_step_(first_step), mtbf_(mtbf_seconds), since_(now), not_before_(now) {}

// Averages with the known cost: one slow save changes the interval, but does not dominate it.
void SaveSchedule::over(double seconds) { cost_ = cost_ ? (*cost_ + seconds) / 2 : seconds; }

void SaveSchedule::failed(bool counts, double now) {
  ++tries_;
  if (counts) {
    ++failures_;
    counted_ = now;
  }
  pause_ = pause_ > 0 ? std::min(2 * pause_, kMostAfterFailure) : kAfterFailure;
  not_before_ = now + pause_;
}

bool SaveSchedule::counts(std::uint64_t step, double now) const {
  if (failures_ > 0 && now - counted_ < kOneFailure) return false;
  return interval_.kind != Kind::kSteps || due(step, false, false);
}

std::optional<double> SaveSchedule::chosen_seconds() const {
  if (interval_.kind != Kind::kAuto || !cost_) return std::nullopt;
  return recipe::best_interval(std::max(*cost_, kLeastCost), mtbf_);
}

bool SaveSchedule::time_is_up(double now) const {
  switch (interval_.kind) {
    case Kind::kSteps: return false;
    case Kind::kTime: return now - since_ >= interval_.seconds;
    case Kind::kContinuous: return now >= not_before_;
    // The first save shows the cost.
    case Kind::kAuto:
      if (!cost_) return !begun_;
      return now >= not_before_ && now - since_ >= *chosen_seconds() + *cost_;
  }
  return false;
}

bool SaveSchedule::due(std::uint64_t step, bool time_is_up, bool busy) const {
  if (first_step_ && step == 1) return true;
  if (const std::uint64_t every = interval_.known_steps(); every > 0 && step % every == 0) return true;
  return time_is_up && !busy;
}

}  // namespace titan::train
