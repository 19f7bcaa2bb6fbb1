#include "ckpt/plan/lr_schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace titan::ckpt {
namespace {

/// The fraction of the distance from `end` to `start` that remains at progress `p`.
double remaining(PhaseKind kind, double p) {
  switch (kind) {
    case PhaseKind::kLinear: return 1 - p;
    case PhaseKind::kSqrt: return 1 - std::sqrt(p);
    case PhaseKind::kCosine: return (1 + std::cos(std::numbers::pi * p)) / 2;
    case PhaseKind::kConstant: return 1;
  }
  return 1;
}

double progress(const LrPhase& phase, std::uint64_t n) {
  const double done = static_cast<double>(n) - phase.origin;
  if (!(phase.length > 0)) return done < 0 ? 0 : 1;
  return std::clamp(done / phase.length, 0.0, 1.0);
}

}  // namespace

PhaseKind decay_kind(const std::string& type) {
  if (type == "sqrt") return PhaseKind::kSqrt;
  if (type == "cosine") return PhaseKind::kCosine;
  return PhaseKind::kLinear;
}

std::uint64_t decay_length(std::optional<double> ratio, std::uint64_t total, std::uint64_t room,
                           std::uint64_t otherwise) {
  if (!ratio) return std::min(otherwise, room);
  // Rounds half to even. The comparisons below are false for NaN, too.
  const double wanted = std::nearbyint(static_cast<double>(total) * *ratio);
  if (!(wanted >= 1)) return 0;
  return wanted < static_cast<double>(room) ? static_cast<std::uint64_t>(wanted) : room;
}

double lr_at(const std::vector<LrPhase>& phases, std::uint64_t n) {
  if (phases.empty()) return 0;
  const LrPhase* active = &phases.front();
  for (const LrPhase& phase : phases)
    if (phase.first <= n) active = &phase;
  const double lr = active->end + (active->start - active->end) * remaining(active->kind, progress(*active, n));
  // Rounding may exceed an end by one unit in the last place; the rate must not.
  return std::clamp(lr, std::min(active->start, active->end), std::max(active->start, active->end));
}

std::uint64_t zero_from(const std::vector<LrPhase>& phases, std::uint64_t first, std::uint64_t last) {
  std::uint64_t from = last + 1;
  for (auto phase = phases.rbegin(); phase != phases.rend() && from > first; ++phase) {
    if (phase->first >= from) continue;
    if (lr_at(phases, from - 1) != 0) break;
    // Within one phase the rate only rises or only falls.
    std::uint64_t low = std::max(first, phase->first), high = from - 1;
    const std::uint64_t begin = low;
    while (low < high) {
      const std::uint64_t middle = low + (high - low) / 2;
      if (lr_at(phases, middle) == 0)
        high = middle;
      else
        low = middle + 1;
    }
    from = high;
    if (from > begin) break;
  }
  return from;
}

LrSchedule schedule_from(const LrSettings& settings, std::uint64_t base, double from) {
  const std::uint64_t total = settings.total_steps;
  const std::uint64_t warmup = std::min(settings.warmup_steps, total);
  const std::uint64_t decay = decay_length(settings.decay_ratio, total, total - warmup, total - warmup);
  const double peak = settings.peak, floor = settings.min_lr_factor * settings.peak;
  auto constant = [](std::uint64_t first, double lr) {
    return LrPhase{first, PhaseKind::kConstant, lr, lr, static_cast<double>(first), 0};
  };
  LrSchedule schedule{{}, settings};
  if (warmup > 0) {
    schedule.phases.push_back(
        {base + 1, PhaseKind::kLinear, from, peak, static_cast<double>(base), static_cast<double>(warmup)});
  }
  schedule.phases.push_back(constant(base + warmup + 1, peak));
  const std::uint64_t last = base + total + 1 - decay;
  if (decay > 0) {
    schedule.phases.push_back(
        {last, decay_kind(settings.decay_type), peak, floor, static_cast<double>(last), static_cast<double>(decay)});
  } else {
    schedule.phases.push_back(constant(last, floor));
  }
  return schedule;
}

std::uint64_t curve_end(const std::vector<LrPhase>& phases) {
  if (phases.empty()) return 0;
  // A stretched schedule has a rounded origin and length; their sum is a whole number except for rounding.
  const double end = phases.back().origin + phases.back().length - 1;
  return end <= 0 ? 0 : static_cast<std::uint64_t>(std::nearbyint(end));
}

}  // namespace titan::ckpt
