#include "libtrain/optim/adamw.h"

#include <algorithm>
#include <cmath>
#include <numeric>
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

double leaf_sum_of_squares(const float* data, std::int64_t count) {
  constexpr int kLanes = 16;
  double lanes[kLanes] = {};
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (int k = 0; k < kLanes; ++k) {
      const double x = data[i + k];
      lanes[k] += x * x;
    }
  }
  for (int k = 0; i < count; ++i, ++k) {
    const double x = data[i];
    lanes[k] += x * x;
  }
  for (int half = kLanes / 2; half >= 1; half /= 2)
    for (int k = 0; k < half; ++k) lanes[k] += lanes[k + half];
  return lanes[0];
}

double global_grad_norm(World& world, const recipe::RunPlan& plan, std::uint64_t leaf_elements,
                        const std::vector<OwnedGradient>& grads) {
  std::vector<std::uint64_t> first_leaf;  // of each parameter, in one row over the model
  std::uint64_t leaves = 0;
  for (const ckpt::ParameterMeta& p : plan.parameters) {
    first_leaf.push_back(leaves);
    leaves += p.grid(leaf_elements).count();
  }
  at::Tensor sums = at::zeros({static_cast<std::int64_t>(leaves)}, at::kDouble);
  double* const row = sums.mutable_data_ptr<double>();
  for (const OwnedGradient& g : grads) {
    const ckpt::LeafGrid grid = plan.parameters[g.piece.parameter].grid(leaf_elements);
    const float* data = g.grad.const_data_ptr<float>();
    for (std::uint64_t leaf = g.piece.leaves.first; leaf < g.piece.leaves.end(); ++leaf) {
      row[first_leaf[g.piece.parameter] + leaf] =
          leaf_sum_of_squares(data, static_cast<std::int64_t>(grid.length(leaf)));
      data += grid.length(leaf);
    }
  }
  world.all->all_reduce_sum(sums);  // exact: every entry has one owner, the others add zero

  std::vector<std::size_t> by_name(plan.parameters.size());
  std::iota(by_name.begin(), by_name.end(), std::size_t{0});
  std::sort(by_name.begin(), by_name.end(),
            [&](std::size_t a, std::size_t b) { return plan.parameters[a].name < plan.parameters[b].name; });
  double total = 0;
  for (const std::size_t p : by_name) {
    double tensor = 0;
    for (std::uint64_t leaf = 0; leaf < plan.parameters[p].grid(leaf_elements).count(); ++leaf)
      tensor += row[first_leaf[p] + leaf];
    total += tensor;
  }
  return std::sqrt(total);
}

double clip_coefficient(double norm, double max_norm) {
  return max_norm <= 0 ? 1 : std::min(1.0, max_norm / (norm + 1e-6));
}

}  // namespace titan::train
