#pragma once
// What happens to the learning rate when its settings change in the middle of a run: five policies, each a function
// from the phases so far to a longer list. The past of a curve never changes.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ckpt/base/result.h"
#include "ckpt/model/lr.h"

namespace titan::ckpt {

enum class LrPolicy {
  kKeep,     ///< finish the old curve, then hold its end
  kRescale,  ///< stretch what is left of the old curve to the new end
  kExtend,   ///< hold the present rate, then decay at the new end
  kRewarm,   ///< a new warm-up from here, then the new curve
  kConfig,   ///< the new config's curve from the next step on; may jump
};
inline constexpr LrPolicy kLrPolicies[] = {LrPolicy::kKeep, LrPolicy::kRescale, LrPolicy::kExtend, LrPolicy::kRewarm,
                                           LrPolicy::kConfig};
const char* policy_name(LrPolicy policy);              ///< "keep", "rescale", ...
Result<LrPolicy> parse_policy(std::string_view name);  ///< \error kInvalid with the names there are

struct PolicyResult {
  LrSchedule schedule;                ///< phases so far and new ones; accepted = the new settings
  std::vector<std::string> warnings;  ///< legal, but probably not meant
};

/// Says which of the steps from `first` to `last` train at a rate of 0 to the end; empty where none does.
std::string zero_rate_warning(const std::vector<LrPhase>& phases, std::uint64_t first, std::uint64_t last);

/// Applies `policy` at step `step` (the checkpoint's; step + 1 is the next). `next`: the new settings, whose
/// total_steps is the new end. `rewarm_from_zero`: kRewarm starts at 0 instead of the present rate.
/// \error kInvalid: kKeep with another peak, warm-up, kind, ratio or minimum (they would do nothing); an end before
/// `step`
Result<PolicyResult> apply_policy(const LrSchedule& so_far, std::uint64_t step, const LrSettings& next, LrPolicy policy,
                                  bool rewarm_from_zero = false);

}  // namespace titan::ckpt
