#include "converters/dcp/agreement.h"

#include <algorithm>

#include "ckpt/plan/lr_schedule.h"
#include "ckpt/plan/lr_settings.h"
#include "converters/dcp/torchtitan.h"
#include "recipe/keys/config.h"

namespace titan::convert::dcp {
namespace {

// A file with none of these keys does not set the LR schedule. A file with some of them leaves the others at
// torchtitan's defaults.
bool says_curve(const ckpt::Settings& rows) {
  return std::ranges::any_of(ckpt::lr_rows({}),
                             [&](const auto& row) { return !recipe::stored_key(rows, row.first).empty(); });
}

// The phases that the run reaches; phases after its last step have no effect.
std::vector<ckpt::LrPhase> phases_met(const ckpt::LrSettings& curve) {
  std::vector<ckpt::LrPhase> phases = ckpt::schedule_from(curve).phases;
  std::erase_if(phases, [&](const ckpt::LrPhase& phase) { return phase.first > curve.total_steps; });
  return phases;
}

// Compares schedules by their phases, because different settings may give the same schedule: for example, warm-ups of
// any length that exceeds the run.
bool same_curve(const ckpt::LrSettings& a, const ckpt::LrSettings& b) {
  return a.total_steps == b.total_steps && phases_met(a) == phases_met(b);
}

std::string difference(const std::string& key, const std::string& mine, const std::string& name,
                       const std::string& theirs) {
  if (!name.empty()) return name + " is " + mine + ", the configuration says " + theirs;
  return key + " is " + mine + ", the configuration leaves it " +
         (theirs == ckpt::kNotSet ? "out" : "at torchtitan's " + theirs);
}

}  // namespace

ckpt::Status check_agreement(const std::string& what, const ckpt::Settings& own, const ckpt::LrSettings& curve,
                             const ckpt::Settings& given, bool with_curve) {
  TITAN_ASSIGN_OR_RETURN(const recipe::Config mine, read_torchtitan(own));
  TITAN_ASSIGN_OR_RETURN(const recipe::Config theirs, read_torchtitan(given));
  const ckpt::Settings here = ckpt::with_rows(curve_rows(mine, 1), ckpt::lr_rows(curve)), there = curve_rows(theirs, 1);
  const bool other_curve = with_curve && says_curve(given) && !same_curve(curve, recipe::lr_settings(theirs));
  std::string differing;
  for (const auto& [key, text] : here) {
    const bool of_curve = ckpt::is_lr_key(key);
    if (of_curve ? !other_curve : !key.starts_with("optimizer.") || ckpt::setting(own, key) == ckpt::kNotSet) continue;
    const std::string name = recipe::stored_key(given, key), other = ckpt::setting(there, key);
    if ((name.empty() && !of_curve) || other == text) continue;
    differing += (differing.empty() ? "" : "; ") + difference(key, text, name, other);
  }
  if (differing.empty()) return {};
  return ckpt::incompatible(what + ": " + differing)
      .with_hint(other_curve ? "--lr-from-config takes the learning rate's curve of that file from the next step on"
                             : "give the configuration that this run was trained with");
}

}  // namespace titan::convert::dcp
