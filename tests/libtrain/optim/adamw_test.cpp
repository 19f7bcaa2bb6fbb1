#include "libtrain/optim/adamw.h"

#include <cmath>
#include <limits>
#include <numeric>

#include <gtest/gtest.h>

#include "libtrain/model/init.h"
#include "tests/libtrain/support/tiny_model.h"

namespace titan::train {
namespace {

using namespace titan::test;

at::Tensor random_tensor(std::int64_t count, std::uint64_t seed, double std = 1) {
  at::Tensor t = at::empty({count}, at::kFloat);
  draw({InitKind::kNormal, std}, seed, "test", {t.mutable_data_ptr<float>(), static_cast<std::size_t>(count)});
  return t;
}

// Three steps with gradients that are a function of (parameter, step); returns the masters of the whole model.
std::map<std::string, std::vector<float>> updated_weights(const Layout& layout, double scale) {
  const recipe::RunPlan plan = make_plan(tiny_dims(), layout, 8);
  std::map<std::string, std::vector<float>> result;
  std::mutex mutex;
  run_ranks(plan.mesh, [&](World& world) {
    Stage stage(plan, world.stage, kSeqLen);
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
    share_weights(world, plan, owners_of(plan), stage);
    const std::lock_guard lock(mutex);
    for (const StageParameter& p : stage.parameters()) result[p.name] = floats(p.master);
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

// What the rank owns, each element `value`.
std::vector<OwnedGradient> own_gradients(const recipe::RunPlan& plan, const World& world, float value) {
  std::vector<OwnedGradient> grads;
  const ckpt::Ownership owners = owners_of(plan);
  for (const ckpt::OwnedPiece& piece : owners.of(static_cast<std::uint32_t>(world.rank))) {
    const ckpt::LeafGrid grid = plan.parameters[piece.parameter].grid(kLeaf);
    grads.push_back(
        {piece, at::full({static_cast<std::int64_t>(grid.begin(piece.leaves.end()) - grid.begin(piece.leaves.first))},
                         value)});
  }
  return grads;
}

TEST(AdamW, RefusesGradientsOfOtherPieces) {
  const recipe::RunPlan plan = make_plan(tiny_dims(), {}, 8);
  run_ranks(plan.mesh, [&](World& world) {
    Stage stage(plan, 0, kSeqLen);
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
    EXPECT_THROW(ShardedAdamW(plan, owners_of(plan, 1000), world, stage, {}), std::invalid_argument)
        << "1000 is no multiple of 16";
  });
}

TEST(LeafSumOfSquares, AddsSixteenLanesAsATree) {
  for (const std::int64_t count : {0, 1, 15, 16, 17, 1024, 1027}) {
    const std::vector<float> x = floats(random_tensor(count, 9));
    double lanes[16] = {};
    for (std::int64_t i = 0; i < count; ++i) lanes[i % 16] += static_cast<double>(x[i]) * x[i];
    for (int half = 8; half >= 1; half /= 2)
      for (int k = 0; k < half; ++k) lanes[k] += lanes[k + half];
    EXPECT_EQ(leaf_sum_of_squares(x.data(), count), lanes[0]) << count;
    EXPECT_NEAR(lanes[0], std::inner_product(x.begin(), x.end(), x.begin(), 0.0), 1e-3);
  }
}

TEST(LeafSumOfSquares, DoesNotOverflowInFp32Range) {
  const std::vector<float> x(20, 3e38f);
  EXPECT_NEAR(leaf_sum_of_squares(x.data(), 20) / (20 * 9e76), 1, 1e-6);
}

TEST(GlobalGradNorm, IsTheLengthOfAllGradientsTogether) {
  const recipe::RunPlan plan = make_plan(tiny_dims(), {3, {2}}, 8);
  std::uint64_t elements = 0;
  for (const ckpt::ParameterMeta& parameter : plan.parameters) elements += ckpt::element_count(parameter.shape);
  run_ranks(plan.mesh, [&](World& world) {
    EXPECT_EQ(global_grad_norm(world, plan, kLeaf, own_gradients(plan, world, 0.5f)),
              std::sqrt(0.25 * static_cast<double>(elements)));
  });
}

TEST(GlobalGradNorm, PassesNonFiniteValuesThroughOnEveryRank) {
  for (const float bad : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    const recipe::RunPlan plan = make_plan(tiny_dims(), {3, {2}}, 8);
    run_ranks(plan.mesh, [&](World& world) {
      std::vector<OwnedGradient> grads = own_gradients(plan, world, 0);
      if (world.rank == 4) grads.back().grad[-1] = bad;
      EXPECT_FALSE(std::isfinite(global_grad_norm(world, plan, kLeaf, grads))) << "rank " << world.rank;
    });
  }
}

TEST(ClipCoefficient, ScalesDownOnly) {
  EXPECT_EQ(clip_coefficient(0.5, 1.0), 1);
  EXPECT_EQ(clip_coefficient(100, 0), 1) << "0 switches clipping off";
  EXPECT_EQ(clip_coefficient(4, 1), 1 / (4 + 1e-6));
  EXPECT_EQ(clip_coefficient(0, 1), 1);
}

}  // namespace
}  // namespace titan::train
