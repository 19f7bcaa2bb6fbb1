#pragma once
// Previews of the LR policies, for a user who chooses one.
#include <cstdint>
#include <string>
#include <vector>

#include "ckpt/plan/lr_policy.h"

namespace titan::ckpt {

/// The effect of one policy on the LR schedule of a checkpoint.
struct LrPreview {
  LrPolicy policy = LrPolicy::kKeep;
  Status refused;  ///< not ok: the policy rejects these settings, and `after` is not set
  LrSchedule after;
  std::vector<std::string> warnings;
  std::uint64_t step = 0;                  ///< step of the checkpoint; the next one is step + 1
  std::uint64_t last = 0;                  ///< last step to show: the latest end of both schedules and of training
  double applied = 0;                      ///< rate at `step`; 0 for step 0
  double next_before = 0, next_after = 0;  ///< rate at step + 1 under the old and the new schedule
};

/// Applies `policy`; a rejection is returned in `refused`. `training_steps` is that of the new settings, 0 if unknown.
LrPreview preview_lr(const LrSchedule& so_far, std::uint64_t step, const LrSettings& next, LrPolicy policy,
                     bool rewarm_from_zero, std::uint64_t training_steps);

/// Previews every policy, in the order of kLrPolicies.
std::vector<LrPreview> preview_policies(const LrSchedule& so_far, std::uint64_t step, const LrSettings& next,
                                        bool rewarm_from_zero, std::uint64_t training_steps);

}  // namespace titan::ckpt
