#include "ckpt/plan/lr_policy.h"

#include <algorithm>
#include <cmath>

#include "ckpt/base/nearest.h"
#include "ckpt/base/printed.h"
#include "ckpt/plan/lr_schedule.h"
#include "ckpt/plan/lr_settings.h"

namespace titan::ckpt {
namespace {

using Phases = std::vector<LrPhase>;

const LrPhase& active_at(const Phases& phases, std::uint64_t n) {
  const LrPhase* active = &phases.front();
  for (const LrPhase& phase : phases)
    if (phase.first <= n) active = &phase;
  return *active;
}

LrPhase constant(std::uint64_t first, double lr) {
  return {first, PhaseKind::kConstant, lr, lr, static_cast<double>(first), 0};
}

Phases begun_by(const Phases& phases, std::uint64_t step) {
  Phases kept;
  for (const LrPhase& phase : phases)
    if (phase.first <= step) kept.push_back(phase);
  return kept;
}

double rate_at(const LrSchedule& schedule, std::uint64_t step) {
  return lr_at(schedule.phases, std::max<std::uint64_t>(step, 1));
}

/// `value` with four significant digits.
std::string number(double value) { return printed("%.4g", value); }

/// Settings of `next` that differ although the policy does not use them. Every policy uses the end of the curve.
std::vector<std::string> ignored_changes(const LrSettings& old, const LrSettings& next, LrPolicy policy) {
  std::vector<std::string> takes;
  if (policy == LrPolicy::kRewarm || policy == LrPolicy::kConfig) return {};
  if (policy == LrPolicy::kExtend)
    takes = {"lr_scheduler.decay_ratio", "lr_scheduler.decay_type", "lr_scheduler.min_lr_factor"};
  takes.push_back("lr_scheduler.total_steps");
  std::vector<std::string> ignored;
  const Settings before = lr_rows(old), after = lr_rows(next);
  for (std::size_t i = 0; i < before.size(); ++i)
    if (before[i].second != after[i].second && std::find(takes.begin(), takes.end(), before[i].first) == takes.end())
      ignored.push_back(before[i].first + ": " + before[i].second + " -> " + after[i].second);
  return ignored;
}

Phases rescale(const Phases& phases, std::uint64_t step, std::uint64_t old_end, std::uint64_t new_end) {
  const std::uint64_t next = step + 1;
  const double x = static_cast<double>(next);
  const double k = static_cast<double>(new_end - step) / static_cast<double>(old_end - step);
  const auto stretched = [&](LrPhase phase, std::uint64_t first) {
    phase.first = first;
    phase.origin = x + (phase.origin - x) * k;
    phase.length *= k;
    return phase;
  };
  Phases result = begun_by(phases, step);
  result.push_back(stretched(active_at(phases, next), next));
  for (const LrPhase& phase : phases)
    if (phase.first > next)
      result.push_back(
          stretched(phase, static_cast<std::uint64_t>(std::ceil(x + static_cast<double>(phase.first - next) * k))));
  return result;
}

PolicyResult extend(const LrSchedule& so_far, std::uint64_t step, const LrSettings& next) {
  const LrSettings& old = so_far.accepted;
  const std::uint64_t end = next.total_steps, old_warmup = std::min(old.warmup_steps, old.total_steps);
  const std::uint64_t old_room = old.total_steps - old_warmup;
  const std::uint64_t old_decay = decay_length(old.decay_ratio, old.total_steps, old_room, old_room);
  const LrPhase& coming = active_at(so_far.phases, step + 1);
  // To a lower peak, the warm-up is a descent.
  const bool warming_up = coming.kind == PhaseKind::kLinear && coming.end == old.peak && coming.start != coming.end;

  PolicyResult result;
  Phases& phases = result.schedule.phases;
  double held = rate_at(so_far, step);
  std::uint64_t held_from = step + 1;
  if (warming_up) {
    phases = begun_by(so_far.phases, step + 1);
    held = coming.end;
    held_from = static_cast<std::uint64_t>(std::ceil(coming.origin + coming.length)) + 1;
  } else {
    phases = begun_by(so_far.phases, step);
  }
  phases.push_back(constant(held_from, held));

  const std::uint64_t room = end >= held_from ? end + 1 - held_from : 0;
  const std::uint64_t decay = decay_length(next.decay_ratio, end, room, old_decay);
  if (decay > 0) {
    const std::uint64_t first = end + 1 - decay;
    phases.push_back({first, decay_kind(next.decay_type), held, std::min(held, next.min_lr_factor * old.peak),
                      static_cast<double>(first), static_cast<double>(decay)});
  } else {
    phases.push_back(constant(std::max(held_from, end + 1), held));
  }
  if (held < 0.05 * old.peak)
    result.warnings.push_back("extend holds " + number(held) + ", less than 5 % of the peak " + number(old.peak) +
                              ": little is learned; rewarm starts a new warm-up");
  return result;
}

Phases config_curve(const LrSchedule& so_far, std::uint64_t step, const LrSettings& next) {
  const Phases curve = schedule_from(next).phases;
  Phases phases = begun_by(so_far.phases, step);
  LrPhase now = active_at(curve, step + 1);
  now.first = step + 1;
  phases.push_back(now);
  for (const LrPhase& phase : curve)
    if (phase.first > step + 1) phases.push_back(phase);
  return phases;
}

}  // namespace

const char* policy_name(LrPolicy policy) {
  switch (policy) {
    case LrPolicy::kKeep: return "keep";
    case LrPolicy::kRescale: return "rescale";
    case LrPolicy::kExtend: return "extend";
    case LrPolicy::kRewarm: return "rewarm";
    case LrPolicy::kConfig: return "config";
  }
  return "config";
}

Result<LrPolicy> parse_policy(std::string_view name) {
  std::vector<std::string> names;
  for (const LrPolicy policy : kLrPolicies) {
    if (name == policy_name(policy)) return policy;
    names.emplace_back(policy_name(policy));
  }
  return invalid("unknown policy '" + std::string(name) + "': expected keep, rescale, extend, rewarm or config")
      .with_hint(did_you_mean(std::string(name), names));
}

std::string zero_rate_warning(const std::vector<LrPhase>& phases, std::uint64_t first, std::uint64_t last) {
  const std::uint64_t from = zero_from(phases, first, last);
  if (from > last) return "";
  return "steps " + std::to_string(from) + " to " + std::to_string(last) +
         " train at a learning rate of 0: the run learns nothing there";
}

Result<PolicyResult> apply_policy(const LrSchedule& so_far, std::uint64_t step, const LrSettings& next, LrPolicy policy,
                                  bool rewarm_from_zero) {
  if (so_far.phases.empty()) return corrupt("the LR schedule has no phase");
  const std::string name = policy_name(policy);
  const std::uint64_t old_end = curve_end(so_far.phases), end = next.total_steps;
  const std::vector<std::string> ignored = ignored_changes(so_far.accepted, next, policy);
  if (!ignored.empty()) {
    Status status =
        invalid("policy " + name + " does not take " + std::to_string(ignored.size()) + " of the changed settings");
    status.causes = ignored;
    return status.with_hint("put the old values back, or use rewarm or config, which take all of them");
  }
  if (end <= step && (policy == LrPolicy::kRescale || policy == LrPolicy::kExtend || policy == LrPolicy::kRewarm))
    return invalid("policy " + name + ": the new end of the curve, step " + std::to_string(end) +
                   ", is not after step " + std::to_string(step))
        .with_hint("set an end of more than " + std::to_string(step) + " steps");

  PolicyResult result;
  const bool past_end = step >= old_end;
  switch (policy) {
    case LrPolicy::kRescale:
      if (!past_end) {
        result.schedule.phases = rescale(so_far.phases, step, old_end, end);
        break;
      }
      result.warnings.push_back("rescale: the old curve ended at step " + std::to_string(old_end) +
                                ", nothing is left to stretch; as keep");
      [[fallthrough]];
    case LrPolicy::kKeep: {
      result.schedule.phases = so_far.phases;
      std::string warning = zero_rate_warning(so_far.phases, std::max(old_end, step) + 1, end);
      if (!warning.empty()) result.warnings.push_back(std::move(warning));
      break;
    }
    case LrPolicy::kExtend: result = extend(so_far, step, next); break;
    case LrPolicy::kRewarm: {
      LrSettings rest = next;
      rest.total_steps = end - step;
      result.schedule.phases = begun_by(so_far.phases, step);
      for (const LrPhase& phase : schedule_from(rest, step, rewarm_from_zero ? 0 : rate_at(so_far, step)).phases)
        result.schedule.phases.push_back(phase);
      break;
    }
    case LrPolicy::kConfig: result.schedule.phases = config_curve(so_far, step, next); break;
  }
  result.schedule.accepted = next;
  return result;
}

}  // namespace titan::ckpt
