#include "libtrain/optim/grad_norm.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <gtest/gtest.h>

#include "tests/libtrain/support/tiny_model.h"

namespace titan::train {
namespace {

using namespace titan::test;

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

TEST(GradNorms, IsTheLengthOfAllGradientsTogether) {
  const recipe::RunPlan plan = make_plan(tiny_dims(), {3, {2}}, 8);
  std::uint64_t elements = 0;
  for (const ckpt::ParameterMeta& parameter : plan.parameters) elements += ckpt::element_count(parameter.shape);
  run_ranks(plan.mesh, [&](World& world) {
    EXPECT_EQ(global_norm(world, plan, own_gradients(plan, world, 0.5f)),
              std::sqrt(0.25 * static_cast<double>(elements)));
  });
}

TEST(GradNorms, PassesNonFiniteValuesThroughOnEveryRank) {
  for (const float bad : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    const recipe::RunPlan plan = make_plan(tiny_dims(), {3, {2}}, 8);
    run_ranks(plan.mesh, [&](World& world) {
      std::vector<OwnedGradient> grads = own_gradients(plan, world, 0);
      if (world.rank == 4) grads.back().grad[-1] = bad;
      EXPECT_FALSE(std::isfinite(global_norm(world, plan, grads))) << "rank " << world.rank;
    });
  }
}

TEST(GradNorms, NamesTheTensorsAndTheFirstThatIsNotFinite) {
  const recipe::RunPlan plan = make_plan(tiny_dims(), {3, {2}}, 8);
  const auto at = [&](const std::string& name) {
    return static_cast<std::uint32_t>(std::ranges::find(plan.parameters, name, &ckpt::ParameterMeta::name) -
                                      plan.parameters.begin());
  };
  run_ranks(plan.mesh, [&](World& world) {
    const GradNorms norms(plan);
    std::vector<OwnedGradient> grads = own_gradients(plan, world, 0.5f);
    const std::vector<double> each = norms.parameter_norms(norm_row(world, norms, grads).data());
    for (std::size_t i = 0; i < plan.parameters.size(); ++i) {
      const auto elements = static_cast<double>(ckpt::element_count(plan.parameters[i].shape));
      EXPECT_DOUBLE_EQ(each[i], 0.5 * std::sqrt(elements)) << plan.parameters[i].name;
    }
    EXPECT_FALSE(norms.first_non_finite(norm_row(world, norms, grads).data()));
    for (OwnedGradient& g : grads)
      if (g.piece.parameter == at("tok_embeddings.weight") || g.piece.parameter == at("output.weight"))
        g.grad[-1] = std::numeric_limits<float>::quiet_NaN();
    EXPECT_EQ(norms.first_non_finite(norm_row(world, norms, grads).data()), at("output.weight")) << "by name";
  });
}

TEST(ClipCoefficient, ScalesDownOnly) {
  EXPECT_EQ(clip_coefficient(0.5, 1.0), 1);
  EXPECT_EQ(clip_coefficient(100, 0), 1) << "0 switches clipping off";
  EXPECT_EQ(clip_coefficient(4, 1), 1 / (4 + 1e-6));
  EXPECT_EQ(clip_coefficient(0, 1), 1);
}

}  // namespace
}  // namespace titan::train
