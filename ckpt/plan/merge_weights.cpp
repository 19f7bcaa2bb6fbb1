#include "ckpt/plan/merge_weights.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "ckpt/plan/lr_schedule.h"

namespace titan::ckpt {
namespace {

// 1 at the first step, 0 one mean distance after the last.
LrPhase decay_of(PhaseKind kind, std::span<const std::uint64_t> steps) {
  const double span = static_cast<double>(steps.back() - steps.front()), n = static_cast<double>(steps.size());
  return {1, kind, 1, 0, static_cast<double>(steps.front()), span * n / (n - 1)};
}

}  // namespace

std::vector<double> mean_weights(std::size_t n) { return std::vector<double>(n, 1 / static_cast<double>(n)); }

std::vector<double> decay_weights(PhaseKind kind, std::span<const std::uint64_t> steps) {
  const std::vector<LrPhase> decay{decay_of(kind, steps)};
  std::vector<double> weights;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const double behind = i + 1 < steps.size() ? lr_at(decay, steps[i + 1]) : 0;
    weights.push_back(lr_at(decay, steps[i]) - behind);
  }
  return weights;
}

std::vector<double> ema_weights(double beta, std::size_t n) {
  std::vector<double> weights(n);
  double share = 1;
  for (std::size_t i = n; i-- > 1; share *= beta) weights[i] = (1 - beta) * share;
  if (n > 0) weights[0] = share;
  return weights;
}

Result<std::vector<double>> normalised(std::vector<double> weights) {
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  if (!std::isfinite(sum) || !(sum > 0)) return invalid("the weights have no sum above 0: they cannot be an average");
  for (double& weight : weights) weight /= sum;
  return weights;
}

std::vector<double> decay_factors(std::span<const double> weights) {
  std::vector<double> factors(weights.empty() ? 0 : weights.size() - 1);
  double sum = 0;
  for (std::size_t i = factors.size(); i-- > 0;) factors[i] = sum += weights[i + 1];
  return factors;
}

std::vector<LrPhase> decayed(const std::vector<LrPhase>& phases, std::span<const std::uint64_t> steps,
                             std::span<const double> factors) {
  std::vector<LrPhase> out;
  const auto add = [&](std::uint64_t low, std::uint64_t high, double factor) {
    for (std::size_t i = 0; i < phases.size(); ++i) {
      const std::uint64_t first = std::max(low, i == 0 ? 1 : phases[i].first);
      const std::uint64_t last =
          i + 1 < phases.size() ? phases[i + 1].first - 1 : std::numeric_limits<std::uint64_t>::max();
      if (first > std::min(high, last)) continue;
      LrPhase phase = phases[i];
      phase.first = first;
      phase.start *= factor;
      phase.end *= factor;
      out.push_back(phase);
    }
  };
  add(1, steps.front(), 1);
  for (std::size_t i = 0; i < factors.size(); ++i) add(steps[i] + 1, steps[i + 1], factors[i]);
  return out;
}

NearestDecay nearest_decay(std::span<const std::uint64_t> steps, std::span<const double> factors) {
  NearestDecay nearest{PhaseKind::kLinear, std::numeric_limits<double>::infinity()};
  for (const PhaseKind kind : {PhaseKind::kLinear, PhaseKind::kSqrt, PhaseKind::kCosine}) {
    const std::vector<LrPhase> decay{decay_of(kind, steps)};
    double gap = 0;
    for (std::size_t i = 0; i < factors.size(); ++i)
      gap = std::max(gap, std::fabs(factors[i] - lr_at(decay, steps[i + 1])));
    if (gap < nearest.gap) nearest = {kind, gap};
  }
  return nearest;
}

}  // namespace titan::ckpt
