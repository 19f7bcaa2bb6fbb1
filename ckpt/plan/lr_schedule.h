#pragma once
// The learning rate as a pure function of the step and a list of phases.
#include <cstdint>

#include "ckpt/model/lr.h"

namespace titan::ckpt {

/// Returns lr(n) of the phase list for the 1-based step `n`. Clamped: past the last phase the curve stays at its end.
double lr_at(const std::vector<LrPhase>& phases, std::uint64_t n);

/// Builds the curve of a config from step `base` + 1 on: warm-up from `from`, hold, decay to min_lr_factor * peak.
/// `total_steps` counts from `base`; decay_type is linear, sqrt or cosine. `accepted` is `settings` as given.
/// \source torchtitan v0.2.2 components/lr_scheduler.py, restated as phases (clamped past the end)
LrSchedule schedule_from(const LrSettings& settings, std::uint64_t base = 0, double from = 0);

/// The kind of phase that "linear", "sqrt" or "cosine" names.
PhaseKind decay_kind(const std::string& type);
/// Steps of a decay: `ratio` of `total`, rounded half to even as Python does, at most `room`; `otherwise` without a
/// ratio.
std::uint64_t decay_length(std::optional<double> ratio, std::uint64_t total, std::uint64_t room,
                           std::uint64_t otherwise);

/// First step from which on the rate stays 0 up to step `last`, not before `first`; last + 1 where it does not end at
/// 0.
std::uint64_t zero_from(const std::vector<LrPhase>& phases, std::uint64_t first, std::uint64_t last);

/// End of the curve: origin + length - 1 of the last phase.
std::uint64_t curve_end(const std::vector<LrPhase>& phases);

}  // namespace titan::ckpt
