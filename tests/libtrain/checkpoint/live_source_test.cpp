#include "libtrain/checkpoint/live_source.h"

#include <gmock/gmock.h>

#include "tests/libtrain/support/tiny_model.h"
#include "tests/support/checkpoints.h"

namespace titan::train {
namespace {

using namespace titan::test;
using testing::HasSubstr;

TEST(LiveSource, GivesWhatWasThereOnceAndNothingAfterItWasClosed) {
  const recipe::RunPlan plan = make_plan(tiny_dims(), {1, {}}, 8);
  const ckpt::Snapshot snapshot = ckpt::testing::make_snapshot(plan.parameters, plan.mesh, kLeaf, 10);
  run_ranks(plan.mesh, [&](World& world) {
    RankStages stage(plan, 0, kSeqLen);
    stage.init_weights(3);
    ShardedAdamW optimizer(plan, owners_of(plan), world, stage, {});
    Staging staging(kLeaf * sizeof(float), 1 << 30);
    LiveSource source(optimizer, snapshot, staging);
    ShardedAdamW::State& state = optimizer.states().front();
    const std::vector<float> before = floats(state.param);
    const ckpt::TensorRef ref{state.piece.parameter, ""};
    std::vector<float> scratch(kLeaf);

    source.let_change(2);
    state.param.fill_(99);
    const auto leaf = source.leaf(ref, 0, std::as_writable_bytes(std::span(scratch)));
    ASSERT_TRUE(leaf.ok()) << leaf.status().to_string();
    EXPECT_EQ(std::memcmp(leaf->data(), before.data(), leaf->size()), 0);

    const auto out = std::as_writable_bytes(std::span(scratch));
    EXPECT_THAT(source.leaf(ref, 0, out).status().message, HasSubstr("was read before"));
    EXPECT_THAT(source.leaf(ref, 1000, out).status().message, HasSubstr("not owned by this rank"));
    source.close();
    EXPECT_THAT(source.leaf({ref.index, ckpt::kExpAvg}, 0, out).status().message, HasSubstr("given up"));
  });
}

}  // namespace
}  // namespace titan::train
