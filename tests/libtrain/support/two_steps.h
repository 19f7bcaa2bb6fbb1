#pragma once
// A rank's training steps without data, saves and logs, to measure its tensors.
#include "tests/libtrain/support/tiny_model.h"

namespace titan::test {

/// Two steps of rank `world` on sequences of `tokens` made-up tokens.
inline void train_two_steps(const recipe::RunPlan& plan, train::World& world, std::int64_t tokens) {
  train::RankStages stage(plan, static_cast<std::uint32_t>(world.stage), tokens);
  stage.init_weights(7);
  const ckpt::Ownership owners = owners_of(plan);
  train::ShardedAdamW optimizer(plan, owners, world, stage, {});
  optimizer.own_masters(stage);
  train::GradientExchange exchange(world, plan, owners, stage);
  train::Executor executor(world, plan, stage.stages(), table_of(plan, world));
  const train::BatchSource batches = [&](std::uint32_t) {
    return train::micro_batch_of(
        (at::arange(kMicro * (tokens + 1), at::kLong) * 7 % plan.dims.vocab_size).view({kMicro, -1}));
  };
  for (std::uint64_t step = 1; step <= 2; ++step) {
    auto out = executor.run_step(batches, 1000);
    auto grads = exchange.reduce(out.sums);
    optimizer.step(grads, 1e-3, 1, step);
    grads.clear();
    exchange.send_weights(optimizer.params());
  }
}

}  // namespace titan::test
