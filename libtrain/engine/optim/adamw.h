#pragma once
// AdamW on the leaves that a rank owns (ZeRO-1).
#include <cstdint>
#include <span>
#include <vector>

#include <ATen/core/Tensor.h>

#include "libtrain/engine/exchange/owned_gradient.h"
#include "libtrain/engine/model/rank_stages.h"
#include "recipe/plan/parameter_rules.h"

namespace titan::train {

struct World;

struct AdamWOptions {
  double beta1 = 0.9, beta2 = 0.95, eps = 1e-8, weight_decay = 0.1;
  double ema = 0;  ///< decay of the EMA of the parameters; 0: no EMA
};

/// AdamW with the moments of the pieces that this rank owns.
class ShardedAdamW {
 public:
  struct State {
    ckpt::OwnedPiece piece;
    at::Tensor param;  ///< fp32, 1-D; a view into the stage parameter's master, if there is one, until own_masters()
    at::Tensor exp_avg, exp_avg_sq;  ///< fp32, 1-D
    at::Tensor ema;                  ///< fp32, 1-D; undefined without an EMA
    recipe::UpdateSettings settings;
  };
  enum class Moments { kZero, kLoaded };  ///< initial moments; kLoaded: undefined until the caller sets them
  /// The leaf size of `owners` must be a multiple of 16 elements (else std::invalid_argument), so that on every layout
  /// only the end of a tensor has a partial SIMD vector.
  ShardedAdamW(const recipe::RunPlan& plan, const ckpt::Ownership& owners, const World& world, const RankStages& stages,
               AdamWOptions options, Moments moments = Moments::kZero);

  /// One update with the fused kernel per piece. `step` is Adam's t (1 for the first update). `scale` (the clip
  /// coefficient) first multiplies each gradient in place. `grads` are the pieces of states(), in order (else
  /// std::logic_error).
  /// \source Loshchilov & Hutter, Decoupled Weight Decay Regularization
  void step(std::vector<OwnedGradient>& grads, double lr, double scale, std::uint64_t step);
  /// Updates only the pieces from index `first` on; `grads` are their gradients.
  void step(std::size_t first, std::span<OwnedGradient> grads, double lr, double scale, std::uint64_t step);
  /// The learning rate of the last update, before per-parameter factors.
  double applied_lr() const { return applied_lr_; }
  std::vector<State>& states() { return states_; }
  /// The parameters of states().
  std::vector<at::Tensor> params() const;
  bool keeps_ema() const { return options_.ema > 0; }
  /// Sets the EMA to the present parameters. Does nothing without an EMA.
  void start_ema();
  /// Draws only what this rank owns, with the same values as Stage::init_weights().
  void init_weights(const recipe::RunPlan& plan, std::uint64_t seed);
  /// Moves this rank's part of the fp32 masters of bf16 compute copies to the device, and frees the masters. Afterwards
  /// this rank holds weights owned by other ranks only as compute copies.
  void own_masters(const RankStages& stages);
  const std::vector<State>& states() const { return states_; }

 private:
  void average(std::size_t first, std::size_t count);

  AdamWOptions options_;
  std::uint64_t leaf_elements_;
  std::vector<State> states_;
  double applied_lr_ = 0;
};

}  // namespace titan::train
