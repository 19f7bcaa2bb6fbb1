#pragma once
// Weights of a sum of checkpoints, and the decay of the learning rate that they stand for: an update counts as much as
// the checkpoints after it weigh. Pure. \source Tian et al., "WSM: Decay-Free Learning Rate Schedule via Checkpoint
// Merging", 2025
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "ckpt/base/result.h"
#include "ckpt/model/lr.h"

namespace titan::ckpt {

/// 1/n each.
std::vector<double> mean_weights(std::size_t n);
/// The weights after which updates count as a decay of `kind` to 0 would let them, which begins at the first of `steps`
/// (ascending, two at least) and ends one mean distance behind the last. Of equal distances kLinear is the mean.
std::vector<double> decay_weights(PhaseKind kind, std::span<const std::uint64_t> steps);
/// An exponential average: beta^(n-1) for the first of `n`, (1 - beta) * beta^(n-i) for the i-th.
std::vector<double> ema_weights(double beta, std::size_t n);
/// Divided by their sum. \error kInvalid: one is not finite, or the sum is not above 0
Result<std::vector<double>> normalised(std::vector<double> weights);

/// The i-th is what updates between source i and source i + 1 count: the sum of the weights from i + 1 on.
std::vector<double> decay_factors(std::span<const double> weights);
/// The curve `phases` up to the last of `steps`, times `factors` between them. What lies before the first step is left
/// as it is.
std::vector<LrPhase> decayed(const std::vector<LrPhase>& phases, std::span<const std::uint64_t> steps,
                             std::span<const double> factors);

/// A decay by name, and how far it is from some factors at most.
struct NearestDecay {
  PhaseKind kind = PhaseKind::kLinear;
  double gap = 0;
};
/// The kind of decay_weights whose factors are nearest to `factors`.
NearestDecay nearest_decay(std::span<const std::uint64_t> steps, std::span<const double> factors);

}  // namespace titan::ckpt
