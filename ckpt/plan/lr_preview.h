#pragma once
// What an LR policy would do, for people to choose by.
#include <cstdint>
#include <string>
#include <vector>

#include "ckpt/plan/lr_policy.h"

namespace titan::ckpt {

/// What a policy makes of a curve at a checkpoint's step.
struct LrPreview {
  LrPolicy policy = LrPolicy::kKeep;
  Status refused;  ///< not ok: the policy does not take these settings; nothing below counts
  LrSchedule after;
  std::vector<std::string> warnings;
  std::uint64_t step = 0;                  ///< the checkpoint's; step + 1 is the next
  std::uint64_t last = 0;                  ///< last step worth showing: the end of the longer curve, or of training
  double applied = 0;                      ///< rate of `step`
  double next_before = 0, next_after = 0;  ///< rate of step + 1 on the old and on the new curve
};

/// Applies `policy`; a refusal is a field, not an error. `training_steps`: of the new settings, 0 unknown.
LrPreview preview_lr(const LrSchedule& so_far, std::uint64_t step, const LrSettings& next, LrPolicy policy,
                     bool rewarm_from_zero, std::uint64_t training_steps);

/// Of every policy, in the order of kLrPolicies.
std::vector<LrPreview> preview_policies(const LrSchedule& so_far, std::uint64_t step, const LrSettings& next,
                                        bool rewarm_from_zero, std::uint64_t training_steps);

}  // namespace titan::ckpt
