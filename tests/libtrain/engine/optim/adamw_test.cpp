#include "libtrain/engine/optim/adamw.h"

#include <cmath>

#include <gtest/gtest.h>

#include "libtrain/engine/model/init.h"
#include "tests/libtrain/support/tiny_model.h"

namespace titan::train::adamw_test {
namespace {

using namespace titan::test;

// Three steps with gradients that are a function of (parameter, step); returns the masters of the whole model.
std::map<std::string, std::vector<float>> updated_weights(const Layout& layout, double scale) {
  const recipe::RunPlan plan = make_plan(tiny_dims(), layout, 8);
  std::map<std::string, std::vector<float>> result;
  std::mutex mutex;
  run_ranks(plan.mesh, [&](World& world) {
    RankStages stage(plan, world.stage, kSeqLen);
    stage.init_weights(3);
    ShardedAdamW optimizer(plan, owners_of(plan), world, stage, {});
    for (std::uint64_t step = 1; step <= 3; ++step) {
      std::vector<OwnedGradient> grads;
      for (const auto& state : optimizer.states()) {
        const ckpt::LeafGrid grid = plan.parameters[state.piece.parameter].grid(kLeaf);
        const at::Tensor whole =
            random_tensor(static_cast<std::int64_t>(grid.elements), state.piece.parameter * 10 + step, 0.1);
        const auto begin = static_cast<std::int64_t>(grid.begin(state.piece.leaves.first));
        grads.push_back({state.piece, whole.narrow(0, begin, state.param.numel()).clone()});
      }
      optimizer.step(grads, 1e-2, scale, step);
    }
    GradientExchange(world, plan, owners_of(plan), stage).send_weights(optimizer.params());
    const std::lock_guard lock(mutex);
    for (const auto* p : stage.parameters()) result[p->name] = floats(p->master);
  });
  return result;
}

TEST(AdamW, ShardedPiecesEqualTheWholeUpdateBitForBit) {
  use_one_thread();
  const auto whole = updated_weights({}, 0.37);
  for (const Layout& layout : {Layout{2, {}}, Layout{3, {}}, Layout{4, {2}}}) {
    const auto sharded = updated_weights(layout, 0.37);
    for (const auto& [name, weight] : whole)
      EXPECT_TRUE(same_bits(sharded.at(name), weight)) << name << ", dp " << layout.dp;
  }
}

TEST(AdamW, EachParameterHasSettingsOfItsOwn) {
  use_one_thread();
  recipe::RunPlan plan = make_plan(tiny_dims(), {}, 8);
  // One update without gradients: what is left of a weight says decay and rate.
  for (std::size_t i = 0; i < plan.parameters.size(); ++i)
    plan.updates.push_back({i % 2 == 0 ? 0.5 : 0.0, i % 3 == 0 ? 0.25 : 1.0});
  run_ranks(plan.mesh, [&](World& world) {
    RankStages stage(plan, world.stage, kSeqLen);
    stage.init_weights(3);
    ShardedAdamW optimizer(plan, owners_of(plan), world, stage, {});
    std::vector<OwnedGradient> grads = own_gradients(plan, world, 0);
    std::vector<at::Tensor> before;
    for (const auto& state : optimizer.states()) before.push_back(state.param.clone());
    optimizer.step(grads, 0.5, 1, 1);
    EXPECT_EQ(optimizer.applied_lr(), 0.5);
    for (std::size_t i = 0; i < before.size(); ++i) {
      const recipe::UpdateSettings& own = plan.updates[optimizer.states()[i].piece.parameter];
      EXPECT_TRUE(at::allclose(optimizer.states()[i].param, before[i] * (1 - 0.5 * own.lr_factor * own.weight_decay)));
    }
  });
}

TEST(AdamW, AgreesWithThePlainFormula) {
  const auto got = updated_weights({}, 0.5);
  const recipe::RunPlan plan = make_plan(tiny_dims(), {}, 8);
  for (std::uint32_t index = 0; index < plan.parameters.size(); ++index) {
    const ckpt::ParameterMeta& meta = plan.parameters[index];
    const auto count = static_cast<std::int64_t>(ckpt::element_count(meta.shape));
    std::vector<float> init(count);
    draw(init_rule(plan.dims, meta.name), 3, meta.name, init);
    std::vector<double> p(init.begin(), init.end()), m(count), v(count);
    for (int step = 1; step <= 3; ++step) {
      const std::vector<float> g = floats(random_tensor(count, index * 10 + step, 0.1));
      for (std::int64_t i = 0; i < count; ++i) {
        const double grad = 0.5 * g[i];
        p[i] -= 1e-2 * 0.1 * p[i];
        m[i] = 0.9 * m[i] + 0.1 * grad;
        v[i] = 0.95 * v[i] + 0.05 * grad * grad;
        p[i] -= 1e-2 * (m[i] / (1 - std::pow(0.9, step))) / (std::sqrt(v[i] / (1 - std::pow(0.95, step))) + 1e-8);
      }
    }
    double worst = 0;
    for (std::int64_t i = 0; i < count; ++i) worst = std::max(worst, std::abs(p[i] - got.at(meta.name)[i]));
    EXPECT_LT(worst, 1e-6) << meta.name;
  }
}

TEST(AdamW, OwnsTheMastersThatNobodyComputesWith) {
  for (const bool bf16 : {false, true}) {
    const recipe::RunPlan plan = make_plan(tiny_dims(true), {2, {}}, 8, bf16);
    run_ranks(plan.mesh, [&](World& world) {
      RankStages stage(plan, 0, kSeqLen);
      stage.init_weights(3);
      ShardedAdamW optimizer(plan, owners_of(plan), world, stage, {});
      std::vector<std::vector<float>> before;
      for (const at::Tensor& param : optimizer.params()) before.push_back(floats(param));
      optimizer.own_masters(stage);
      for (const auto* p : stage.parameters()) {
        const bool in_fp32 = !bf16 || (p->index == 0 && !p->tied_head);
        EXPECT_EQ(p->master.defined(), in_fp32) << p->name;
      }
      for (std::size_t i = 0; i < before.size(); ++i) EXPECT_TRUE(same_bits(floats(optimizer.params()[i]), before[i]));
      for (const ShardedAdamW::State& state : optimizer.states()) {
        if (bf16 && state.piece.parameter != 0) {
          EXPECT_EQ(state.param.storage().nbytes(), state.param.nbytes());
        }
      }
    });
  }
}

TEST(AdamW, ARankDrawsWhatItOwnsAndNothingElse) {
  const float nothing = std::nanf("");
  for (const bool bf16 : {false, true}) {
    const recipe::RunPlan plan = make_plan(tiny_dims(true), {3, {2}}, 8, bf16);
    RankStages whole(make_plan(tiny_dims(true), {}, 8, bf16), 0, kSeqLen);
    whole.init_weights(3);
    run_ranks(plan.mesh, [&](World& world) {
      const ckpt::Ownership owners = owners_of(plan);
      RankStages stage(plan, world.stage, kSeqLen);
      for (auto* p : stage.parameters()) p->master.fill_(nothing);
      ShardedAdamW optimizer(plan, owners, world, stage, {});
      optimizer.init_weights(plan, 3);
      std::int64_t drawn = 0, owned = 0;
      for (const auto* p : stage.parameters())
        if (!p->tied_head) drawn += p->master.isnan().logical_not().sum().item<std::int64_t>();
      for (const at::Tensor& param : optimizer.params()) owned += param.numel();
      EXPECT_EQ(drawn, owned);
      optimizer.own_masters(stage);
      GradientExchange(world, plan, owners, stage).send_weights(optimizer.params());
      for (const auto* p : stage.parameters()) {
        const StageParameter& first = *whole.parameters()[p->tied_head ? whole.parameters().size() - 1 : p->index];
        EXPECT_TRUE(same_bits(floats(p->compute), floats(first.compute))) << p->name;
      }
    });
  }
}

// What a run starts with: no masters but those that somebody computes with, or such of the host.
TEST(AdamW, WithoutMastersOrWithThoseOfTheHostItOwnsTheSame) {
  for (const bool bf16 : {false, true}) {
    const recipe::RunPlan plan = make_plan(tiny_dims(true), {2, {2}}, 8, bf16);
    run_ranks(plan.mesh, [&](World& world) {
      std::vector<std::vector<float>> expected;
      for (const Masters masters : {Masters::kOnDevice, Masters::kNone, Masters::kOnHost}) {
        RankStages stage(plan, world.stage, kSeqLen, masters);
        ShardedAdamW optimizer(plan, owners_of(plan), world, stage, {});
        if (masters == Masters::kNone)
          optimizer.init_weights(plan, 3);
        else
          stage.init_weights(3);
        optimizer.own_masters(stage);
        std::vector<std::vector<float>> found;
        for (const at::Tensor& param : optimizer.params()) found.push_back(floats(param));
        if (expected.empty()) expected = found;
        ASSERT_EQ(found.size(), expected.size());
        for (std::size_t i = 0; i < found.size(); ++i) EXPECT_TRUE(same_bits(found[i], expected[i])) << i;
        for (const auto* p : stage.parameters())
          EXPECT_EQ(p->master.defined(), p->compute.scalar_type() == at::kFloat) << p->name;
      }
    });
  }
}

TEST(AdamW, RefusesGradientsOfOtherPieces) {
  const recipe::RunPlan plan = make_plan(tiny_dims(), {}, 8);
  run_ranks(plan.mesh, [&](World& world) {
    RankStages stage(plan, 0, kSeqLen);
    stage.init_weights(1);
    ShardedAdamW optimizer(plan, owners_of(plan), world, stage, {});
    std::vector<OwnedGradient> none;
    EXPECT_THROW(optimizer.step(none, 1e-3, 1, 1), std::logic_error);
    // As many and as large as its own, but two of one size have changed places.
    std::vector<OwnedGradient> swapped = own_gradients(plan, world, 0);
    std::size_t other = 1;
    while (other < swapped.size() && swapped[other].grad.numel() != swapped[0].grad.numel()) ++other;
    ASSERT_LT(other, swapped.size());
    std::swap(swapped[0], swapped[other]);
    EXPECT_THROW(optimizer.step(swapped, 1e-3, 1, 1), std::logic_error);
    EXPECT_THROW(ShardedAdamW(plan, {plan.parameters, 1000, plan.mesh}, world, stage, {}), std::invalid_argument)
        << "1000 is no multiple of 16";
  });
}

}  // namespace
}  // namespace titan::train::adamw_test
