#include "libtrain/optim/adamw.h"

#include <algorithm>
#include <stdexcept>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

namespace titan::train {

ShardedAdamW::ShardedAdamW(const recipe::RunPlan& plan, const ckpt::Ownership& owners, const World& world, Stage& stage,
                           AdamWOptions options)
    : options_(options) {
  const std::uint64_t leaf_elements = owners.leaf_elements();
  if (leaf_elements % 16 != 0)
    throw std::invalid_argument("the leaf size must be a multiple of 16 elements (64 bytes)");
  for (const ckpt::OwnedPiece& piece :
       owners.of(static_cast<std::uint32_t>(world.stage) * plan.mesh.dp + static_cast<std::uint32_t>(world.dp_rank))) {
    const auto parameter =
        std::find_if(stage.parameters().begin(), stage.parameters().end(),
                     [&](const StageParameter& p) { return p.index == piece.parameter && !p.tied_head; });
    if (parameter == stage.parameters().end())
      throw std::logic_error("the stage lacks a parameter that this rank owns");
    const ckpt::LeafGrid grid = plan.parameters[piece.parameter].grid(leaf_elements);
    const auto begin = static_cast<std::int64_t>(grid.begin(piece.leaves.first));
    const auto length = static_cast<std::int64_t>(grid.begin(piece.leaves.end())) - begin;
    states_.push_back({piece, parameter->master.view(-1).narrow(0, begin, length), at::zeros({length}, at::kFloat),
                       at::zeros({length}, at::kFloat)});
  }
}

std::vector<at::Tensor> ShardedAdamW::params() const {
  std::vector<at::Tensor> params;
  for (const State& state : states_) params.push_back(state.param);
  return params;
}

void ShardedAdamW::own_masters(Stage& stage) {
  for (StageParameter& p : stage.parameters()) {
    if (p.compute.scalar_type() == at::kFloat) continue;
    for (State& state : states_)
      if (state.piece.parameter == p.index && !p.tied_head) state.param = state.param.clone();
    p.master.reset();
  }
}

void ShardedAdamW::step(std::vector<OwnedGradient>& grads, double lr, double scale, std::uint64_t step) {
  applied_lr_ = lr;
  if (grads.size() != states_.size()) throw std::logic_error("AdamW got gradients of other pieces than it owns");
  const at::NoGradGuard no_grad;
  // The kernel reads the step as already counted. fp32 holds integers up to 2^24 exactly.
  const at::Tensor count = at::scalar_tensor(static_cast<double>(step), at::kFloat);
  for (std::size_t i = 0; i < states_.size(); ++i) {
    State& s = states_[i];
    if (grads[i].piece != s.piece) throw std::logic_error("AdamW got gradients of other pieces than it owns");
    if (scale != 1) grads[i].grad.mul_(scale);
    // One call per piece: a flat buffer over tensors of odd lengths would move the kernel's scalar tails.
    at::_fused_adamw_({s.param}, {grads[i].grad}, {s.exp_avg}, {s.exp_avg_sq}, /*max_exp_avg_sqs=*/{}, {count}, lr,
                      options_.beta1, options_.beta2, options_.weight_decay, options_.eps, /*amsgrad=*/false,
                      /*maximize=*/false);
  }
}

}  // namespace titan::train
