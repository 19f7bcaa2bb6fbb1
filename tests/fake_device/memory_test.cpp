// What a run holds on a device, counted to the byte, against what `plan` says of it.
#include <gtest/gtest.h>

#include "libtrain/job/forecast/memory.h"
#include "tests/fake_device/device_memory.h"
#include "tests/fake_device/fake_device.h"
#include "tests/libtrain/support/two_steps.h"

namespace titan::test::memory_test {
namespace {

constexpr std::int64_t kTokens = 128;
constexpr recipe::ModelDims kModel{
    .dim = 128, .n_layers = 4, .n_heads = 4, .n_kv_heads = 4, .head_dim = 32, .ffn_dim = 352, .vocab_size = 512};

TEST(DeviceMemory, IsWhatThePlanSays) {
  use_one_thread();
  static FakeDevice fake;
  train::use_device(&fake);
  struct Case {
    bool bf16;
    std::int64_t count, recompute_each, loss_chunk;
  };
  for (const Case& c : {Case{false, 1, 0, 0}, Case{false, 8, 1, 0}, Case{true, 8, 0, 0}, Case{true, 4, 0, 64}}) {
    recipe::RunPlan plan = make_plan(kModel, {}, c.count, c.bf16);
    plan.batch.seq_len = kTokens;
    plan.recompute_each = c.recompute_each;
    plan.loss_chunk = c.loss_chunk;
    DeviceMemory& memory = DeviceMemory::get();
    const std::size_t before = memory.bytes().current;
    memory.reset_peak();
    run_ranks(plan.mesh, [&](train::World& world) { train_two_steps(plan, world, kTokens); });
    const auto measured = static_cast<double>(memory.bytes().peak - before);
    const train::ScheduleTable table =
        train::make_schedule(plan.schedule, plan.pipeline(static_cast<std::uint32_t>(c.count))).value();
    const train::RankMemory forecast = train::rank_memory(plan, 0, table.at(0), 0);
    EXPECT_NEAR(static_cast<double>(forecast.tensors()) / measured, 1, 0.1)
        << (c.bf16 ? "bf16" : "fp32") << ", M " << c.count << ", measured " << measured << ", weights "
        << forecast.weights << ", sums " << forecast.gradients << ", optimizer " << forecast.optimizer
        << ", activations " << forecast.activations;
  }
  train::use_device(nullptr);
}

// All ranks' tensors lie here. What a start makes stays, so that its end is its peak; plan knows each byte of it.
TEST(DeviceMemory, AStartHoldsNothingThatTheRunDoesNot) {
  use_one_thread();
  static FakeDevice fake;
  train::use_device(&fake);
  const recipe::RunPlan plan = make_plan(kModel, {4, {}}, 8, /*bf16=*/true);
  const ckpt::Ownership owners = owners_of(plan);
  DeviceMemory& memory = DeviceMemory::get();
  for (const train::Masters masters : {train::Masters::kNone, train::Masters::kOnHost}) {
    const std::size_t before = memory.bytes().current;
    memory.reset_peak();
    std::size_t held = 0;
    run_ranks(plan.mesh, [&](train::World& world) {
      train::RankStages stage(plan, 0, kTokens, masters);
      train::ShardedAdamW optimizer(plan, owners, world, stage, {});
      if (masters == train::Masters::kOnHost)
        stage.init_weights(7);
      else
        optimizer.init_weights(plan, 7);
      optimizer.own_masters(stage);
      train::GradientExchange exchange(world, plan, owners, stage);
      exchange.send_weights(optimizer.params());
      world.io->barrier();
      if (world.rank == 0) held = memory.bytes().current - before;
      world.io->barrier();
    });
    const auto peak = static_cast<double>(memory.bytes().peak - before);
    EXPECT_LT(peak / static_cast<double>(held), 1.03);  // for a moment, what single ranks send or take
    const train::RankMemory planned = train::rank_memory(plan, 0, {}, 1);
    EXPECT_LT(peak, 1.05 * 4 * static_cast<double>(planned.weights + planned.optimizer + planned.exchange));
  }
  train::use_device(nullptr);
}

}  // namespace
}  // namespace titan::test::memory_test
