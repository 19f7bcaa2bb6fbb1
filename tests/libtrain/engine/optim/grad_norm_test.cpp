#include "libtrain/engine/optim/grad_norm.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <gtest/gtest.h>
#include <torch/nn/utils/clip_grad.h>

#include "tests/libtrain/support/tiny_model.h"

namespace titan::train::grad_norm_test {
namespace {

using namespace titan::test;

/// A gradient for each parameter, of very different sizes.
std::vector<at::Tensor> all_gradients(const recipe::RunPlan& plan) {
  std::vector<at::Tensor> all;
  for (std::size_t i = 0; i < plan.parameters.size(); ++i)
    all.push_back(random_tensor(static_cast<std::int64_t>(ckpt::element_count(plan.parameters[i].shape)), i,
                                std::pow(10.0, static_cast<double>(i % 7) - 4)));
  return all;
}

/// The part of `all` that this rank owns.
std::vector<OwnedGradient> owned_of(const recipe::RunPlan& plan, const World& world,
                                    const std::vector<at::Tensor>& all) {
  std::vector<OwnedGradient> grads = own_gradients(plan, world, 0);
  for (OwnedGradient& g : grads) {
    const ckpt::LeafGrid grid = plan.parameters[g.piece.parameter].grid(kLeaf);
    g.grad.copy_(
        all[g.piece.parameter].narrow(0, static_cast<std::int64_t>(grid.begin(g.piece.leaves.first)), g.grad.numel()));
  }
  return grads;
}

/// What torch.nn.utils.clip_grad_norm_ finds; `clipped` gets what it leaves.
double torch_norm(const std::vector<at::Tensor>& all, double p, double max_norm, std::vector<at::Tensor>* clipped) {
  std::vector<at::Tensor> parameters;
  for (const at::Tensor& grad : all) {
    parameters.push_back(at::zeros_like(grad, at::kDouble));
    parameters.back().mutable_grad() = grad.to(at::kDouble);
  }
  const double norm = torch::nn::utils::clip_grad_norm_(parameters, max_norm, p);
  for (const at::Tensor& parameter : parameters) clipped->push_back(parameter.grad());
  return norm;
}

TEST(GradNorms, AreTorchsOfEachTypeOnEveryLayout) {
  use_one_thread();
  for (const double type : {1.0, 2.0, 3.0, 7.0, 16.0, static_cast<double>(INFINITY)}) {
    std::vector<double> found;
    for (const Layout& layout : {Layout{1, {}}, Layout{3, {2}}, Layout{2, {1, 3}}}) {
      const recipe::RunPlan plan = make_plan(tiny_dims(), layout, 8);
      const std::vector<at::Tensor> all = all_gradients(plan);
      run_ranks(plan.mesh, [&](World& world) {
        const GradNorms norms(plan, NormOrder::of(type));
        const std::vector<double> row = norm_row(world, norms, owned_of(plan, world, all));
        const std::vector<double> each = norms.parameter_norms(row.data());
        if (world.rank != 0) return;
        found.push_back(norms.norm(row.data()));
        std::vector<at::Tensor> clipped, alone;
        EXPECT_NEAR(found.back() / torch_norm(all, type, 0.5, &clipped), 1, 1e-9) << type;
        for (std::size_t i = 0; i < all.size(); ++i) {
          EXPECT_NEAR(each[i] / torch_norm({all[i]}, type, 0.5, &alone), 1, 1e-9) << type << plan.parameters[i].name;
          const at::Tensor ours = all[i] * clip_coefficient(found.back(), 0.5);
          EXPECT_TRUE(at::allclose(ours.to(at::kDouble), clipped[i], 1e-6, 0)) << type << plan.parameters[i].name;
        }
      });
    }
    EXPECT_EQ(found, std::vector<double>(3, found[0])) << type;
  }
}

TEST(GradNorms, OfAnyTypeNeitherOverflowNorVanish) {
  const recipe::RunPlan plan = make_plan(tiny_dims(), {2, {2}}, 8);
  std::uint64_t elements = 0;
  for (const ckpt::ParameterMeta& parameter : plan.parameters) elements += ckpt::element_count(parameter.shape);
  run_ranks(plan.mesh, [&](World& world) {
    for (const int p : {NormOrder::kMax, 1, 2, 3, 16})
      for (const float size : {1e30f, 1e-30f, 0.f}) {
        const GradNorms norms(plan, NormOrder{p});
        const double times = p == NormOrder::kMax ? 1 : std::pow(static_cast<double>(elements), 1.0 / p);
        const double norm = norms.norm(norm_row(world, norms, own_gradients(plan, world, size)).data());
        if (size == 0)
          EXPECT_EQ(norm, 0);
        else
          EXPECT_NEAR(norm / (size * times), 1, 1e-9) << p << ' ' << size;
      }
  });
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
      std::vector<OwnedGradient> grads = own_gradients(plan, world, 1);
      if (world.rank == 4) grads.back().grad[-1] = bad;
      for (const int p : {NormOrder::kMax, 1, 2, 16}) {
        const GradNorms norms(plan, NormOrder{p});
        const std::vector<double> row = norm_row(world, norms, grads);
        EXPECT_FALSE(std::isfinite(norms.norm(row.data()))) << "rank " << world.rank << ", p " << p;
        EXPECT_TRUE(norms.first_non_finite(row.data())) << "rank " << world.rank << ", p " << p;
      }
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
}  // namespace titan::train::grad_norm_test
