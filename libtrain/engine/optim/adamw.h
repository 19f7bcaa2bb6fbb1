#pragma once
// AdamW for the pieces of parameters that a rank owns (ZeRO-1). A piece is a range of consecutive leaves of one
// parameter.
#include <cstdint>
#include <span>
#include <vector>

#include <ATen/core/Tensor.h>

#include "libtrain/engine/exchange/owned_gradient.h"
#include "libtrain/engine/model/rank_stages.h"
#include "recipe/plan/parameter_rules.h"

namespace titan::train {

struct World;

/// The settings of AdamW that are the same for all parameters; weight_decay may be overridden per parameter.
struct AdamWOptions {
  double beta1 = 0.9, beta2 = 0.95, eps = 1e-8, weight_decay = 0.1;
  double ema = 0;  ///< decay of the EMA of the parameters; 0: no EMA
};

class ShardedAdamW {
 public:
  /// The weights and optimizer state of one piece.
  struct State {
    ckpt::OwnedPiece piece;
    at::Tensor param;                ///< fp32, 1-D; a view into the stage parameter's master as long as there is one
    at::Tensor exp_avg, exp_avg_sq;  ///< fp32, 1-D
    at::Tensor ema;                  ///< fp32, 1-D; undefined without an EMA
    recipe::UpdateSettings settings;
  };
  enum class Moments { kZero, kLoaded };  ///< initial moments; kLoaded: undefined until the caller sets them
  /// The leaf size of `owners` must be a multiple of 16 elements (else std::invalid_argument), so that on every layout
  /// only the end of a tensor has a partial SIMD vector.
  ShardedAdamW(const recipe::RunPlan& plan, const ckpt::Ownership& owners, const World& world, const RankStages& stages,
               AdamWOptions options, Moments moments = Moments::kZero);

  /// One update of all pieces with LibTorch's fused kernel. First multiplies each gradient by `scale`, the clip
  /// coefficient, in place. `step` is Adam's t (1 for the first update). `grads` has one gradient for each of states(),
  /// in order. \error std::logic_error if the gradients are of other pieces
  /// \source Loshchilov & Hutter, Decoupled Weight Decay Regularization
  void step(std::vector<OwnedGradient>& grads, double lr, double scale, std::uint64_t step);
  /// Updates only grads.size() pieces, from index `first` in states() on. `grads` are their gradients.
  void step(std::size_t first, std::span<OwnedGradient> grads, double lr, double scale, std::uint64_t step);
  /// The learning rate of the last update, without the factors of parameters (UpdateSettings::lr_factor).
  double applied_lr() const { return applied_lr_; }
  std::vector<State>& states() { return states_; }
  /// State::param of all states().
  std::vector<at::Tensor> params() const;
  bool keeps_ema() const { return options_.ema > 0; }
  /// Sets the EMA to the present weights. Does nothing without an EMA.
  void start_ema();
  /// Draws the weights that this rank owns, with the same values as Stage::init_weights().
  void init_weights(const recipe::RunPlan& plan, std::uint64_t seed);
  /// Copies this rank's pieces of the stages' fp32 masters to tensors of their own on the device, and frees the
  /// masters. Only for parameters with bf16 compute copies: afterwards their pieces that other ranks own are here in
  /// bf16 only.
  void own_masters(const RankStages& stages);
  const std::vector<State>& states() const { return states_; }

 private:
  /// Updates the EMA of `count` pieces from index `first` on.
  void average(std::size_t first, std::size_t count);

  AdamWOptions options_;
  std::uint64_t leaf_elements_;
  std::vector<State> states_;
  double applied_lr_ = 0;
};

}  // namespace titan::train
