#pragma once
// The LR schedule as a pure function of the step and a list of phases.
#include <cstdint>

#include "ckpt/model/lr.h"

namespace titan::ckpt {

/// lr(n) for the 1-based step `n`. After the end of the last phase the rate stays constant. Without a phase it is 0.
double lr_at(const std::vector<LrPhase>& phases, std::uint64_t n);

/// Builds the schedule of `settings` from step `base` + 1 on: warm-up from the rate `from`, constant peak, decay
/// towards min_lr_factor * peak. This last rate holds after the end, that is after `total_steps` steps from `base`,
/// even if there is no decay. decay_type is linear, sqrt or cosine. `settings` become the accepted ones.
/// \source torchtitan v0.2.2 components/lr_scheduler.py, restated as phases (the rate stays constant after the end)
LrSchedule schedule_from(const LrSettings& settings, std::uint64_t base = 0, double from = 0);

/// The PhaseKind named "linear", "sqrt" or "cosine"; kLinear for other names.
PhaseKind decay_kind(const std::string& type);
/// Number of decay steps: `ratio` * `total`, rounded half to even as Python does, but at most `room`; `otherwise` if
/// there is no ratio.
std::uint64_t decay_length(std::optional<double> ratio, std::uint64_t total, std::uint64_t room,
                           std::uint64_t otherwise);

/// The first step in [first, last] from which the rate is 0 through `last`; last + 1 if there is none.
std::uint64_t zero_from(const std::vector<LrPhase>& phases, std::uint64_t first, std::uint64_t last);

/// Last step of the schedule: origin + length - 1 of the last phase.
std::uint64_t curve_end(const std::vector<LrPhase>& phases);

}  // namespace titan::ckpt
