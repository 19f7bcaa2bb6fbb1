#include "libtrain/optim/adamw.h"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <utility>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "libtrain/device/device.h"
#include "libtrain/device/host_values.h"
#include "libtrain/model/init.h"

namespace titan::train {

ShardedAdamW::ShardedAdamW(const recipe::RunPlan& plan, const ckpt::Ownership& owners, const World& world,
                           const RankStages& stages, AdamWOptions options, Moments moments)
    : options_(options), leaf_elements_(owners.leaf_elements()) {
  if (leaf_elements_ % 16 != 0)
    throw std::invalid_argument("the leaf size must be a multiple of 16 elements (64 bytes)");
  for (const ckpt::OwnedPiece& piece :
       owners.of(static_cast<std::uint32_t>(world.stage) * plan.mesh.dp + static_cast<std::uint32_t>(world.dp_rank))) {
    const auto parameter = std::ranges::find_if(
        stages.parameters(), [&](const StageParameter* p) { return p->index == piece.parameter && !p->tied_head; });
    if (parameter == stages.parameters().end())
      throw std::logic_error("the stages lack a parameter that this rank owns");
    const ckpt::LeafGrid grid = plan.parameters[piece.parameter].grid(leaf_elements_);
    const auto begin = static_cast<std::int64_t>(grid.begin(piece.leaves.first));
    const auto length = static_cast<std::int64_t>(grid.begin(piece.leaves.end())) - begin;
    // Memory that is about to be loaded is not touched before: its readers do that on several threads.
    const auto moment = [&] {
      const at::TensorOptions fp32 = device().options(at::kFloat);
      return moments == Moments::kZero ? at::zeros({length}, fp32) : at::empty({length}, fp32);
    };
    states_.push_back(
        {piece, (*parameter)->master.view(-1).narrow(0, begin, length), moment(), moment(),
         plan.updates.empty() ? recipe::UpdateSettings{options.weight_decay} : plan.updates[piece.parameter]});
  }
  std::map<std::pair<double, double>, std::vector<std::size_t>> alike;
  for (std::size_t i = 0; i < states_.size(); ++i)
    alike[{states_[i].settings.lr_factor, states_[i].settings.weight_decay}].push_back(i);
  for (auto& [settings, states] : alike) alike_.push_back(std::move(states));
}

std::vector<at::Tensor> ShardedAdamW::params() const {
  std::vector<at::Tensor> params;
  for (const State& state : states_) params.push_back(state.param);
  return params;
}

void ShardedAdamW::init_weights(const recipe::RunPlan& plan, std::uint64_t seed) {
  std::vector<at::Tensor> hosts;
  std::vector<Drawing> drawings;
  for (const State& state : states_) {
    const ckpt::ParameterMeta& parameter = plan.parameters[state.piece.parameter];
    drawings.push_back({parameter.name, parameter.grid(leaf_elements_).begin(state.piece.leaves.first),
                        mutable_host_values<float>(hosts.emplace_back(device().host_for(state.param)))});
  }
  draw_all(plan.dims, seed, drawings);
  for (std::size_t i = 0; i < states_.size(); ++i) device().upload(hosts[i], states_[i].param);
}

void ShardedAdamW::own_masters(const RankStages& stages) {
  for (StageParameter* p : stages.parameters()) {
    if (p->compute.scalar_type() == at::kFloat) continue;
    for (State& state : states_)
      if (state.piece.parameter == p->index && !p->tied_head) state.param = state.param.clone();
    p->master.reset();
  }
}

void ShardedAdamW::step(std::vector<OwnedGradient>& grads, double lr, double scale, std::uint64_t step) {
  applied_lr_ = lr;
  if (grads.size() != states_.size()) throw std::logic_error("AdamW got gradients of other pieces than it owns");
  const at::NoGradGuard no_grad;
  // The kernel reads the step as already counted. fp32 holds integers up to 2^24 exactly.
  const at::Tensor count = at::scalar_tensor(static_cast<double>(step), device().options(at::kFloat));
  for (std::size_t i = 0; i < states_.size(); ++i)
    if (grads[i].piece != states_[i].piece) throw std::logic_error("AdamW got gradients of other pieces than it owns");
  for (const std::vector<std::size_t>& alike : alike_) {
    // A list of pieces, each updated by itself: a flat buffer over tensors of odd lengths would move the kernel's
    // scalar tails. A GPU takes a list in few launches.
    std::vector<at::Tensor> params, gradients, exp_avgs, exp_avg_sqs;
    for (const std::size_t i : alike) {
      if (scale != 1) grads[i].grad.mul_(scale);
      params.push_back(states_[i].param);
      gradients.push_back(grads[i].grad);
      exp_avgs.push_back(states_[i].exp_avg);
      exp_avg_sqs.push_back(states_[i].exp_avg_sq);
    }
    const recipe::UpdateSettings& settings = states_[alike.front()].settings;
    at::_fused_adamw_(params, gradients, exp_avgs, exp_avg_sqs, /*max_exp_avg_sqs=*/{},
                      std::vector<at::Tensor>(params.size(), count), lr * settings.lr_factor, options_.beta1,
                      options_.beta2, settings.weight_decay, options_.eps, /*amsgrad=*/false, /*maximize=*/false);
  }
}

}  // namespace titan::train
