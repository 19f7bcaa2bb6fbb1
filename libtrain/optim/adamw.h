#pragma once
// AdamW on the leaves that a rank owns (ZeRO-1).
#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "libtrain/reduce/canonical.h"

namespace titan::train {

struct AdamWOptions {
  double beta1 = 0.9, beta2 = 0.95, eps = 1e-8, weight_decay = 0.1;
};

/// Moments of the pieces that this rank owns.
class ShardedAdamW {
 public:
  struct State {
    ckpt::OwnedPiece piece;
    at::Tensor param;                ///< 1-D view into the stage parameter's master
    at::Tensor exp_avg, exp_avg_sq;  ///< fp32, 1-D, zero at the start
  };
  /// The leaf size of `owners` must be a multiple of 16 elements, so that vector tails lie where the tensor ends on
  /// every layout (else std::invalid_argument).
  ShardedAdamW(const recipe::RunPlan& plan, const ckpt::Ownership& owners, const World& world, Stage& stage,
               AdamWOptions options);

  /// One update with the fused kernel per piece; `step` is Adam's t (1 for the first update). `scale` (the clip
  /// coefficient) multiplies each gradient first, in place. `grads` are the pieces of states(), in order (else
  /// std::logic_error). \source Loshchilov & Hutter, Decoupled Weight Decay Regularization
  void step(std::vector<OwnedGradient>& grads, double lr, double scale, std::uint64_t step);
  /// The learning rate of the last update.
  double applied_lr() const { return applied_lr_; }
  std::vector<State>& states() { return states_; }
  const std::vector<State>& states() const { return states_; }

 private:
  AdamWOptions options_;
  std::vector<State> states_;
  double applied_lr_ = 0;
};

}  // namespace titan::train
