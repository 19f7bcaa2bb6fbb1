#include "libtrain/engine/train/same_ranks.h"

#include <gmock/gmock.h>

#include "tests/libtrain/support/tiny_model.h"

namespace titan::train::same_ranks_test {
namespace {

using namespace titan::test;

/// What the ranks of a tied model on 2 stages x 2 copies say, where rank `other` has one other bit in parameter `name`.
std::vector<ckpt::Status> verdicts(int other, const std::string& name) {
  const recipe::RunPlan plan = make_plan(tiny_dims(true), {2, {2}}, 4);
  std::vector<ckpt::Status> statuses(plan.mesh.world());
  run_ranks(plan.mesh, [&](World& world) {
    RankStages stage(plan, world.stage, kSeqLen);
    stage.init_weights(7);
    for (auto* parameter : stage.parameters())
      if (world.rank == other && plan.parameters[parameter->index].name == name)
        parameter->master.view({-1})[-1].mul_(1 + 1e-6);
    statuses[static_cast<std::size_t>(world.rank)] = agree_on_weights(*world.all, plan, stage);
  });
  return statuses;
}

TEST(SameWeights, CopiesWithTheSameValuesAreFine) {
  for (const ckpt::Status& status : verdicts(-1, "")) EXPECT_TRUE(status.ok()) << status.to_string();
}

TEST(SameWeights, ACopyWithAnotherBitIsNamedOnEveryRank) {
  for (const ckpt::Status& status : verdicts(1, "layers.0.attention.wq.weight")) {
    EXPECT_EQ(status.code, ckpt::Code::kIncompatible);
    EXPECT_THAT(status.message, testing::HasSubstr("different values in their copies of layers.0.attention.wq.weight"));
  }
}

TEST(SameWeights, ATiedHeadIsACopyOfTheEmbedding) {
  // Rank 3 has the head's copy, on another stage than the embedding.
  for (const ckpt::Status& status : verdicts(3, "tok_embeddings.weight"))
    EXPECT_THAT(status.message, testing::HasSubstr("tok_embeddings.weight"));
}

}  // namespace
}  // namespace titan::train::same_ranks_test
