#include "libtrain/engine/train/step_row.h"

#include <cmath>

#include <gtest/gtest.h>

#include "tests/libtrain/support/tiny_model.h"

namespace titan::train::step_row_test {
namespace {

using namespace titan::test;

// The last stage alone knows losses, and each rank the gradients it owns.
TEST(StepRow, EveryRankOfEveryStageKnowsLossNormAndMemory) {
  const recipe::RunPlan plan = make_plan(tiny_dims(), {3, {2}}, 8);
  std::uint64_t elements = 0;
  for (const ckpt::ParameterMeta& parameter : plan.parameters) elements += ckpt::element_count(parameter.shape);
  run_ranks(plan.mesh, [&](World& world) {
    StepRow row(plan);
    std::vector<double> losses(static_cast<std::size_t>(plan.batch.count), 0.0);
    if (world.stage + 1 == static_cast<int>(plan.mesh.pp))
      for (std::size_t i = static_cast<std::size_t>(world.dp_rank); i < losses.size(); i += plan.mesh.dp)
        losses[i] = static_cast<double>(i + 1);
    row.fill(losses, {.stop = world.rank == 2, .saved = true}, own_gradients(plan, world, 0.5f));
    row.note_memory(world.rank, {100u + static_cast<unsigned>(world.rank), std::nullopt});
    row.add_up(*world.all);
    const auto count = static_cast<double>(losses.size());
    EXPECT_EQ(row.loss_sum(), count * (count + 1) / 2);
    EXPECT_EQ(row.largest_loss(), count);
    EXPECT_EQ(row.grad_norm(), std::sqrt(0.25 * static_cast<double>(elements)));
    EXPECT_EQ(row.memory().resident, 100u + static_cast<unsigned>(world.size) - 1) << "the most of any rank";
    EXPECT_EQ(row.memory().tensors, std::nullopt) << "nobody knows";
    EXPECT_TRUE(row.stop());
    EXPECT_FALSE(row.trouble());
    EXPECT_EQ(row.saved(), world.size);
    // Nothing of a step is left in the next.
    row.fill(std::vector<double>(losses.size(), 0.0), {}, {});
    row.add_up(*world.all);
    EXPECT_EQ(row.loss_sum(), 0);
    EXPECT_EQ(row.grad_norm(), 0);
    EXPECT_EQ(row.memory().resident, std::nullopt);
  });
}

TEST(StepRow, TheBalanceOfExpertsIsTheMeanOverLayersAndMicroBatches) {
  recipe::ModelDims dims = tiny_dims();
  dims.experts = true;
  dims.n_experts = 3;
  const recipe::RunPlan plan = make_plan(dims, {2, {2}}, 4);
  run_ranks(plan.mesh, [&](World& world) {
    StepRow row(plan);
    row.fill({0, 0, 0, 0}, {}, own_gradients(plan, world, 0));
    row.note_balance(3.0 * (world.rank + 1));
    row.add_up(*world.all);
    EXPECT_EQ(row.balance(), 30.0 / (4 * 3));
    EXPECT_EQ(row.grad_norm(), 0);
  });
  EXPECT_EQ(StepRow(make_plan(tiny_dims(), {}, 4)).balance(), std::nullopt);
}

}  // namespace
}  // namespace titan::train::step_row_test
