#pragma once
// What happens to the learning rate when its settings change in the middle of a run: five policies. Each makes a new
// list of phases from the phases so far. The past of a curve never changes.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ckpt/base/result.h"
#include "ckpt/model/lr.h"

namespace titan::ckpt {

enum class LrPolicy {
  kKeep,     ///< finish the old curve, then hold its last rate
  kRescale,  ///< stretch the rest of the old curve to the new end
  kExtend,   ///< hold the present rate, then decay towards the new end
  kRewarm,   ///< a new warm-up from here, then the new curve
  kConfig,   ///< the new config's curve from the next step on; may jump
};
inline constexpr LrPolicy kLrPolicies[] = {LrPolicy::kKeep, LrPolicy::kRescale, LrPolicy::kExtend, LrPolicy::kRewarm,
                                           LrPolicy::kConfig};
const char* policy_name(LrPolicy policy);              ///< "keep", "rescale", ...
Result<LrPolicy> parse_policy(std::string_view name);  ///< \error kInvalid, with the known names

struct PolicyResult {
  LrSchedule schedule;                ///< old and new phases; accepted = the new settings
  std::vector<std::string> warnings;  ///< legal, but probably not intended
};

/// Warns if the rate is 0 from some step between `first` and `last` up to `last`, and names these steps; else empty.
std::string zero_rate_warning(const std::vector<LrPhase>& phases, std::uint64_t first, std::uint64_t last);

/// Applies `policy` at step `step` (that of the checkpoint; the next one is step + 1). `next` are the new settings: its
/// total_steps is the new end of the curve. With `rewarm_from_zero`, kRewarm starts at 0 instead of the present rate.
/// \error kInvalid: a changed setting that `policy` ignores (only kRewarm and kConfig use all); for kRescale, kExtend
/// and kRewarm an end that is not after `step`
Result<PolicyResult> apply_policy(const LrSchedule& so_far, std::uint64_t step, const LrSettings& next, LrPolicy policy,
                                  bool rewarm_from_zero = false);

}  // namespace titan::ckpt
