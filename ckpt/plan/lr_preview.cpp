#include "ckpt/plan/lr_preview.h"

#include <algorithm>

#include "ckpt/plan/lr_schedule.h"

namespace titan::ckpt {

LrPreview preview_lr(const LrSchedule& so_far, std::uint64_t step, const LrSettings& next, LrPolicy policy,
                     bool rewarm_from_zero, std::uint64_t training_steps) {
  LrPreview preview;
  preview.policy = policy;
  preview.step = step;
  preview.applied = step == 0 ? 0 : lr_at(so_far.phases, step);
  preview.next_before = lr_at(so_far.phases, step + 1);
  preview.last = std::max({curve_end(so_far.phases), training_steps, step + 1});
  Result<PolicyResult> result = apply_policy(so_far, step, next, policy, rewarm_from_zero);
  if (!result.ok()) {
    preview.refused = result.status();
    return preview;
  }
  preview.after = std::move(result->schedule);
  preview.warnings = std::move(result->warnings);
  preview.next_after = lr_at(preview.after.phases, step + 1);
  preview.last = std::max({preview.last, curve_end(preview.after.phases), next.total_steps});
  return preview;
}

std::vector<LrPreview> preview_policies(const LrSchedule& so_far, std::uint64_t step, const LrSettings& next,
                                        bool rewarm_from_zero, std::uint64_t training_steps) {
  std::vector<LrPreview> previews;
  for (const LrPolicy policy : kLrPolicies)
    previews.push_back(preview_lr(so_far, step, next, policy, rewarm_from_zero, training_steps));
  return previews;
}

}  // namespace titan::ckpt
