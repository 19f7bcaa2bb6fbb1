#pragma once
// Previews of the LR policies, so that a person can choose one.
#include <cstdint>
#include <string>
#include <vector>

#include "ckpt/plan/lr_policy.h"

namespace titan::ckpt {

/// What a policy does to the curve of a checkpoint.
struct LrPreview {
  LrPolicy policy = LrPolicy::kKeep;
  Status refused;  ///< not ok: the policy refuses these settings; the new curve is not set
  LrSchedule after;
  std::vector<std::string> warnings;
  std::uint64_t step = 0;                  ///< step of the checkpoint; the next one is step + 1
  std::uint64_t last = 0;                  ///< last step worth showing: the end of the longer curve, or of training
  double applied = 0;                      ///< rate at `step`
  double next_before = 0, next_after = 0;  ///< rate at step + 1 on the old and on the new curve
};

/// Applies `policy`; a refusal is a field, not an error. `training_steps` is that of the new settings, 0 if unknown.
LrPreview preview_lr(const LrSchedule& so_far, std::uint64_t step, const LrSettings& next, LrPolicy policy,
                     bool rewarm_from_zero, std::uint64_t training_steps);

/// Previews every policy, in the order of kLrPolicies.
std::vector<LrPreview> preview_policies(const LrSchedule& so_far, std::uint64_t step, const LrSettings& next,
                                        bool rewarm_from_zero, std::uint64_t training_steps);

}  // namespace titan::ckpt
