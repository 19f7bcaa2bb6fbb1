#pragma once
// Weights of a weighted sum of checkpoints, and the LR decay that such a sum imitates. The effective weight of an
// update is the sum of the weights of the checkpoints after it, so late updates count less, as under a decay. Pure.
// \source Tian et al., "WSM: Decay-Free Learning Rate Schedule via Checkpoint Merging", 2025
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "ckpt/base/result.h"
#include "ckpt/model/lr.h"

namespace titan::ckpt {

/// n weights of 1/n.
std::vector<double> mean_weights(std::size_t n);
/// The weights whose sum imitates an LR decay of `kind` to 0. The decay begins at the first of `steps` (ascending, at
/// least two) and ends one mean distance after the last. At equal distances kLinear gives equal weights.
std::vector<double> decay_weights(PhaseKind kind, std::span<const std::uint64_t> steps);
/// Exponential moving average: beta^(n-1) for the first of `n` checkpoints, (1 - beta) * beta^(n-i) for the i-th.
std::vector<double> ema_weights(double beta, std::size_t n);
/// `weights` divided by their sum. \error kInvalid: the sum is not finite, or not above 0
Result<std::vector<double>> normalised(std::vector<double> weights);

/// The effective weights of updates. The i-th factor is that of the updates between checkpoints i and i + 1: the sum of
/// the weights of checkpoint i + 1 and all later ones.
std::vector<double> decay_factors(std::span<const double> weights);
/// The schedule `phases` up to the last of `steps`, with the rates between the i-th step and the next multiplied by the
/// i-th of `factors`. Rates up to the first step do not change.
std::vector<LrPhase> decayed(const std::vector<LrPhase>& phases, std::span<const std::uint64_t> steps,
                             std::span<const double> factors);

/// A kind of decay, and the largest difference between its factors and the given ones.
struct NearestDecay {
  PhaseKind kind = PhaseKind::kLinear;
  double gap = 0;
};
/// The kind of decay whose factors (from its decay_weights()) are closest to `factors`.
NearestDecay nearest_decay(std::span<const std::uint64_t> steps, std::span<const double> factors);

}  // namespace titan::ckpt
