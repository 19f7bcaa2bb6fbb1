#include "libtrain/engine/optim/adamw.h"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <utility>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "libtrain/engine/device/device.h"
#include "libtrain/engine/device/host_values.h"
#include "libtrain/engine/model/init.h"
#include "libtrain/engine/parallel/communicator.h"
#include "recipe/plan/plan_values.h"

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
    const at::TensorOptions fp32 = device().options(at::kFloat);
    const at::Tensor& master = (*parameter)->master;
    // Memory that will be loaded is not written to here: page faults are then handled by the threads that load it.
    const auto moment = [&] {
      return moments == Moments::kZero ? at::zeros({length}, fp32) : at::empty({length}, fp32);
    };
    states_.push_back(
        {piece, master.defined() ? master.view(-1).narrow(0, begin, length) : at::empty({length}, fp32), moment(),
         moment(), keeps_ema() ? moment() : at::Tensor(),
         plan.updates.empty() ? recipe::UpdateSettings{options.weight_decay} : plan.updates[piece.parameter]});
  }
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
    if (p->compute.scalar_type() == at::kFloat || !p->master.defined()) continue;
    for (State& state : states_)
      if (state.piece.parameter == p->index && !p->tied_head)
        state.param = at::empty(state.param.sizes(), device().options(at::kFloat)).copy_(state.param);
    p->master.reset();
  }
}

void ShardedAdamW::start_ema() {
  if (!keeps_ema()) return;
  for (State& state : states_) state.ema.copy_(state.param);
}

// ema + (param - ema) x (1 - decay), each operation rounded separately: the same bits on every layout, number of
// threads and device. A fused operation would round the tails of its SIMD vectors differently.
void ShardedAdamW::average(std::size_t first, std::size_t count) {
  constexpr std::int64_t kAtOnce = 1 << 22;  // elements of a temporary
  for (std::size_t i = first; i < first + count; ++i) {
    State& s = states_[i];
    for (std::int64_t at = 0, size = s.ema.numel(); at < size; at += kAtOnce) {
      const std::int64_t length = std::min(kAtOnce, size - at);
      at::Tensor part = s.ema.narrow(0, at, length);
      part.add_(at::sub(s.param.narrow(0, at, length), part).mul_(1 - options_.ema));
    }
  }
}

void ShardedAdamW::step(std::vector<OwnedGradient>& grads, double lr, double scale, std::uint64_t step) {
  if (grads.size() != states_.size()) throw std::logic_error("AdamW got gradients of other pieces than it owns");
  this->step(0, grads, lr, scale, step);
}

void ShardedAdamW::step(std::size_t first, std::span<OwnedGradient> grads, double lr, double scale,
                        std::uint64_t step) {
  applied_lr_ = lr;
  if (first + grads.size() > states_.size()) throw std::logic_error("AdamW got gradients of other pieces than it owns");
  const at::NoGradGuard no_grad;
  // The kernel takes t of this update as an fp32 tensor, which is exact up to 2^24.
  const at::Tensor count = at::scalar_tensor(static_cast<double>(step), device().options(at::kFloat));
  // One call for all pieces with the same settings, since each call is a kernel launch on a GPU. The kernel computes
  // the pieces of a list one by one. (In one flat buffer of all pieces, other elements would be in partial SIMD
  // vectors, which may round differently.)
  struct Lists {
    std::vector<at::Tensor> params, grads, exp_avgs, exp_avg_sqs, counts;
  };
  std::map<std::pair<double, double>, Lists> groups;
  for (std::size_t i = 0; i < grads.size(); ++i) {
    const State& s = states_[first + i];
    if (grads[i].piece != s.piece) throw std::logic_error("AdamW got gradients of other pieces than it owns");
    Lists& lists = groups[{lr * s.settings.lr_factor, s.settings.weight_decay}];
    lists.params.push_back(s.param);
    lists.grads.push_back(grads[i].grad);
    lists.exp_avgs.push_back(s.exp_avg);
    lists.exp_avg_sqs.push_back(s.exp_avg_sq);
    lists.counts.push_back(count);
  }
  for (auto& [settings, lists] : groups) {
    if (scale != 1) at::_foreach_mul_(lists.grads, scale);
    at::_fused_adamw_(lists.params, lists.grads, lists.exp_avgs, lists.exp_avg_sqs, /*max_exp_avg_sqs=*/{},
                      lists.counts, settings.first, options_.beta1, options_.beta2, settings.second, options_.eps,
                      /*amsgrad=*/false, /*maximize=*/false);
  }
  if (keeps_ema()) average(first, grads.size());
}

}  // namespace titan::train
