#pragma once
// What happens to the learning rate when its settings change in the middle of a run: five policies. Each makes a new
// list of phases from the phases so far. Rates of past steps never change.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ckpt/base/result.h"
#include "ckpt/model/lr.h"

namespace titan::ckpt {

enum class LrPolicy {
  kKeep,     ///< finish the old schedule, then hold its last rate
  kRescale,  ///< stretch the rest of the old schedule to the new end
  kExtend,   ///< hold the current rate (within a warm-up: finish it, and hold its end), then decay to the new end
  kRewarm,   ///< the new schedule, begun after the current step: its warm-up starts from the current rate
  kConfig,   ///< the new schedule as if it had been in force from step 1; the rate may jump at the next step
};
inline constexpr LrPolicy kLrPolicies[] = {LrPolicy::kKeep, LrPolicy::kRescale, LrPolicy::kExtend, LrPolicy::kRewarm,
                                           LrPolicy::kConfig};
const char* policy_name(LrPolicy policy);              ///< "keep", "rescale", ...
Result<LrPolicy> parse_policy(std::string_view name);  ///< \error kInvalid, listing the known names

/// The effect of a policy.
struct PolicyResult {
  LrSchedule schedule;                ///< old and new phases; accepted = the new settings
  std::vector<std::string> warnings;  ///< about results that are allowed but probably not intended
};

/// A warning if the rate is 0 from some step in [first, last] through `last`; it names these steps. Empty otherwise.
std::string zero_rate_warning(const std::vector<LrPhase>& phases, std::uint64_t first, std::uint64_t last);

/// Applies `policy` after step `step`, the checkpoint's step. `next` are the new settings; next.total_steps is the new
/// end of the schedule. With `rewarm_from_zero`, kRewarm starts at 0 instead of the rate of `step`. After the end of
/// the old schedule, kRescale acts as kKeep, with a warning. \error kInvalid: a changed setting that `policy` does not
/// use (kRewarm and kConfig use all; kExtend the end and the three settings of the decay; kKeep and kRescale only the
/// end); for kRescale, kExtend and kRewarm an end that is not after `step`; kCorrupt: `so_far` has no phase
Result<PolicyResult> apply_policy(const LrSchedule& so_far, std::uint64_t step, const LrSettings& next, LrPolicy policy,
                                  bool rewarm_from_zero = false);

}  // namespace titan::ckpt
