#pragma once
// A small Llama with odd tensor sizes, and a training loop over fake ranks: tests use it to compare layouts.
#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "ckpt/plan/ownership.h"
#include "ckpt/plan/partition.h"
#include "libtrain/engine/device/leaf_norm.h"
#include "libtrain/engine/exchange/gradient_exchange.h"
#include "libtrain/engine/model/rank_stages.h"
#include "libtrain/engine/optim/adamw.h"
#include "libtrain/engine/optim/grad_norm.h"
#include "libtrain/engine/pipeline/executor.h"
#include "recipe/model/parameters.h"
#include "recipe/plan/run_plan.h"
#include "tests/libtrain/support/tensors.h"
#include "tests/libtrain/support/thread_world.h"

namespace titan::test {

/// Several tensors have three or more leaves with a short last one.
inline constexpr std::uint64_t kLeaf = 1024;
inline constexpr std::int64_t kSeqLen = 19, kMicro = 2;

inline recipe::ModelDims tiny_dims(bool tied = false) {
  return {.dim = 40,
          .n_layers = 3,
          .n_heads = 4,
          .n_kv_heads = 2,
          .head_dim = 10,
          .ffn_dim = 77,
          .vocab_size = 83,
          .tied = tied};
}

/// The model's parameters with the stages of `cuts`.
inline std::vector<ckpt::ParameterMeta> parameters_of(const recipe::ModelDims& dims,
                                                      const std::vector<std::uint32_t>& cuts) {
  std::vector<ckpt::ParameterMeta> list = recipe::model_parameters(dims);
  const std::vector<std::uint32_t> groups = ckpt::group_parameters(list).value().group_of;
  for (std::size_t i = 0; i < list.size(); ++i)
    list[i].stage = static_cast<std::uint32_t>(std::upper_bound(cuts.begin(), cuts.end(), groups[i]) - cuts.begin());
  return list;
}

struct Layout {
  std::uint32_t dp = 1;
  std::vector<std::uint32_t> cuts;  ///< as RunPlan::stage_cuts
  recipe::ScheduleKind schedule = recipe::ScheduleKind::k1F1B;
  std::uint32_t chunks = 1;  ///< stages on each rank of the pipeline
};

inline recipe::RunPlan make_plan(const recipe::ModelDims& dims, const Layout& layout, std::int64_t count,
                                 bool bf16 = false) {
  recipe::RunPlan plan;
  plan.dims = dims;
  plan.mesh = {.pp = (static_cast<std::uint32_t>(layout.cuts.size()) + 1) / layout.chunks, .dp = layout.dp};
  plan.schedule = layout.schedule;
  plan.chunks = layout.chunks;
  plan.batch = {.micro = kMicro, .global = kMicro * count, .count = count, .seq_len = kSeqLen};
  plan.bf16 = bf16;
  plan.parameters = parameters_of(dims, layout.cuts);
  for (ckpt::ParameterMeta& parameter : plan.parameters) {
    plan.stages.push_back(parameter.stage);
    parameter.stage = plan.rank_of(parameter.stage);
  }
  plan.stage_cuts = layout.cuts;
  plan.leaf_elements = kLeaf;
  plan.exchange_bytes = 16 * 1024;  // every exchange takes several messages
  return plan;
}

/// The plan's schedule, for a rank's share of the micro-batches.
inline train::ScheduleTable table_of(const recipe::RunPlan& plan, const train::World& world) {
  const std::uint32_t count = train::scheduled_count(plan, static_cast<std::uint32_t>(world.dp_rank));
  return train::make_schedule(plan.schedule, plan.pipeline(count)).value();
}

// What the rank owns, each element `value`.
inline std::vector<train::OwnedGradient> own_gradients(const recipe::RunPlan& plan, const train::World& world,
                                                       float value) {
  std::vector<train::OwnedGradient> grads;
  const ckpt::Ownership owners = owners_of(plan);
  for (const ckpt::OwnedPiece& piece : owners.of(static_cast<std::uint32_t>(world.rank))) {
    const ckpt::LeafGrid grid = plan.parameters[piece.parameter].grid(kLeaf);
    grads.push_back(
        {piece, at::full({static_cast<std::int64_t>(grid.begin(piece.leaves.end()) - grid.begin(piece.leaves.first))},
                         value)});
  }
  return grads;
}

/// Tokens [kMicro, kSeqLen + 1] of a micro-batch, a pure function of (step, index).
inline at::Tensor tokens_of(const recipe::RunPlan& plan, std::uint64_t step, std::uint32_t micro_batch) {
  std::mt19937_64 random(step * 1000 + micro_batch);
  at::Tensor tokens = at::empty({kMicro, kSeqLen + 1}, at::kLong);
  std::generate_n(tokens.mutable_data_ptr<std::int64_t>(), tokens.numel(),
                  [&] { return static_cast<std::int64_t>(random() % plan.dims.vocab_size); });
  return tokens;
}

/// The micro-batches of `step`, for an executor.
inline train::BatchSource batches_of(const recipe::RunPlan& plan, std::uint64_t step) {
  return [&plan, step](std::uint32_t micro_batch) {
    const at::Tensor tokens = tokens_of(plan, step, micro_batch);
    return train::MicroBatch{tokens.narrow(1, 0, kSeqLen).contiguous(), tokens.narrow(1, 1, kSeqLen).contiguous()};
  };
}

/// Puts an owned part into the whole tensor.
inline void place(const recipe::RunPlan& plan, const ckpt::OwnedPiece& piece, const at::Tensor& part,
                  std::vector<float>& whole) {
  const ckpt::LeafGrid grid = plan.parameters[piece.parameter].grid(kLeaf);
  whole.resize(grid.elements);
  const std::vector<float> values = floats(part);
  std::copy(values.begin(), values.end(), whole.begin() + static_cast<std::ptrdiff_t>(grid.begin(piece.leaves.first)));
}

/// The results of a run that must not depend on the layout.
struct Trace {
  std::vector<double> losses, norms;                  ///< per step
  std::map<std::string, std::vector<float>> weights;  ///< by name
  std::map<std::string, std::vector<float>> exp_avg_sq;
};

inline std::vector<train::TreeSum> make_sums(const train::World& world, const recipe::RunPlan& plan,
                                             const train::RankStages& stages) {
  const auto count = static_cast<std::uint32_t>(plan.batch.count);
  return {stages.parameters().size(), train::TreeSum(count, train::dp_block(count, plan.mesh.dp, world.dp_rank))};
}

/// Sums the rows of all ranks; the norm and what else can be read from them.
inline std::vector<double> norm_row(train::World& world, const train::GradNorms& norms,
                                    const std::vector<train::OwnedGradient>& grads) {
  std::vector<double> values(static_cast<std::size_t>(norms.size()));
  norms.fill(grads, values.data());
  world.all->sum(std::span(values));
  return values;
}
inline double global_norm(train::World& world, const recipe::RunPlan& plan,
                          const std::vector<train::OwnedGradient>& grads) {
  const train::GradNorms norms(plan);
  return norms.norm(norm_row(world, norms, grads).data());
}

/// `dress` may put other fabrics around those of a rank.
inline Trace train_model(const recipe::RunPlan& plan, std::uint64_t steps,
                         const std::function<void(train::World&)>& dress = {}) {
  constexpr double kMaxNorm = 0.5;
  Trace trace;
  std::mutex mutex;
  const auto body = [&](train::World& world) {
    if (dress) dress(world);
    train::RankStages stage(plan, world.stage, kSeqLen);
    stage.init_weights(7);
    const ckpt::Ownership owners = owners_of(plan);
    train::ShardedAdamW optimizer(plan, owners, world, stage, {});
    optimizer.own_masters(stage);
    train::GradientExchange exchange(world, plan, owners, stage);
    exchange.connect();
    train::Executor executor(world, plan, stage.stages(), table_of(plan, world));
    executor.work_with(&exchange);
    std::vector<double> losses, norms;
    for (std::uint64_t step = 1; step <= steps; ++step) {
      const auto tokens = static_cast<std::uint64_t>(plan.batch.tokens_per_step());
      train::Executor::StepOutput out = executor.run_step(batches_of(plan, step), tokens);
      auto grads = exchange.reduce(out.sums);
      norms.push_back(global_norm(world, plan, grads));
      const std::vector<at::Tensor> params = optimizer.params();
      for (std::size_t part = 0; part < exchange.parts(); ++part) {
        const auto [first, end] = exchange.pieces_of(part);
        optimizer.step(first, std::span(grads).subspan(first, end - first), 1e-3,
                       train::clip_coefficient(norms.back(), kMaxNorm), step);
        exchange.send_weights(part, std::span(params).subspan(first, end - first));
      }
      world.all->sum(std::span(out.losses));
      losses.push_back(std::accumulate(out.losses.begin(), out.losses.end(), 0.0) / static_cast<double>(tokens));
    }
    exchange.await_weights();
    const std::lock_guard lock(mutex);
    if (world.rank == 0) {
      trace.losses = losses;
      trace.norms = norms;
    }
    for (const auto& state : optimizer.states()) {
      const std::string& name = plan.parameters[state.piece.parameter].name;
      place(plan, state.piece, state.param, trace.weights[name]);
      place(plan, state.piece, state.exp_avg_sq, trace.exp_avg_sq[name]);
    }
  };
  run_ranks(plan.mesh, body, train::domain_size(plan));
  return trace;
}

}  // namespace titan::test
