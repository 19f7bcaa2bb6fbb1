#include "libtrain/engine/model/stage.h"

#include <cmath>

#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "libtrain/engine/device/cpu/cpu_kernels.h"
#include "libtrain/engine/model/blocks.h"
#include "libtrain/engine/model/functions/rope.h"
#include "tests/libtrain/support/composite.h"
#include "tests/libtrain/support/tiny_model.h"

namespace titan::train::stage_test {
namespace {

using namespace titan::test;

TEST(StageSpec, FollowsTheCuts) {
  const recipe::ModelDims dims = tiny_dims();  // groups 0 embedding, 1..3 layers, 4 head
  EXPECT_EQ(stage_spec(dims, {}, 0), (StageSpec{0, 3, true, true}));
  EXPECT_EQ(stage_spec(dims, {2}, 0), (StageSpec{0, 1, true, false}));
  EXPECT_EQ(stage_spec(dims, {2}, 1), (StageSpec{1, 3, false, true}));
  EXPECT_EQ(stage_spec(dims, {1, 4}, 0), (StageSpec{0, 0, true, false}));
  EXPECT_EQ(stage_spec(dims, {1, 4}, 1), (StageSpec{0, 3, false, false}));
  EXPECT_EQ(stage_spec(dims, {1, 4}, 2), (StageSpec{3, 3, false, true}));
}

TEST(Stage, HoldsItsParametersInModelOrderWithATiedHeadLast) {
  const recipe::RunPlan plan = make_plan(tiny_dims(true), {1, {3}}, 8, /*bf16=*/true);
  Stage first(plan, 0, kSeqLen), last(plan, 1, kSeqLen);
  EXPECT_EQ(first.parameters().front().name, "tok_embeddings.weight");
  EXPECT_EQ(first.parameters().size(), 1u + 2 * 9);
  EXPECT_EQ(last.parameters().size(), 9u + 1 + 1);
  EXPECT_EQ(last.parameters().back().name, "tok_embeddings.weight");
  EXPECT_TRUE(last.parameters().back().tied_head);
  EXPECT_EQ(last.parameters().back().index, 0u);
  for (Stage* stage : {&first, &last}) {
    for (const StageParameter& p : stage->parameters()) {
      EXPECT_TRUE(p.compute.is_leaf() && p.compute.requires_grad()) << p.name;
      EXPECT_FALSE(p.master.requires_grad()) << p.name;
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(p.master.const_data_ptr()) % 64, 0u) << p.name;
      EXPECT_EQ(plan.parameters[p.index].name, p.name);
    }
  }
}

TEST(Stage, KeepsTwoLeavesOfATiedMatrixOnOneStage) {
  Stage stage(make_plan(tiny_dims(true), {}, 8), 0, kSeqLen);
  const StageParameter &embedding = stage.parameters().front(), &head = stage.parameters().back();
  EXPECT_EQ(embedding.master.const_data_ptr(), head.compute.const_data_ptr());
  EXPECT_EQ(embedding.compute.const_data_ptr(), head.compute.const_data_ptr());
  EXPECT_NE(embedding.compute.unsafeGetTensorImpl(), head.compute.unsafeGetTensorImpl());
}

TEST(Stage, RefreshRenewsBf16Copies) {
  Stage stage(make_plan(tiny_dims(true), {}, 8, /*bf16=*/true), 0, kSeqLen);
  stage.init_weights(1);
  for (StageParameter& p : stage.parameters()) p.master.add_(1);
  stage.refresh();
  for (const StageParameter& p : stage.parameters()) {
    EXPECT_EQ(p.compute.scalar_type(), p.name == "tok_embeddings.weight" && !p.tied_head ? at::kFloat : at::kBFloat16);
    EXPECT_TRUE(at::equal(p.compute, p.master.to(p.compute.scalar_type()))) << p.name;
    EXPECT_TRUE(p.compute.requires_grad());
  }
}

TEST(Stage, FailsWhenThePlanLacksAParameter) {
  recipe::RunPlan plan = make_plan(tiny_dims(), {}, 8);
  std::erase_if(plan.parameters, [](const auto& p) { return p.name == "layers.1.feed_forward.w2.weight"; });
  EXPECT_THROW(Stage(plan, 0, kSeqLen), std::invalid_argument);
}

// Loss of one micro-batch as a function of the parameters, for finite differences.
double loss_of(const Stage& stage, const recipe::RunPlan& plan) {
  const at::NoGradGuard no_grad;
  const at::Tensor tokens = tokens_of(plan, 1, 0);
  return ordered_sum(
      composite::token_losses(stage.forward(tokens.narrow(1, 0, kSeqLen)), tokens.narrow(1, 1, kSeqLen)));
}

TEST(Stage, GradientsAgreeWithFiniteDifferences) {
  use_one_thread();
  for (const bool tied : {false, true}) {
    recipe::ModelDims dims = tiny_dims(tied);
    dims.qkv_bias = tied;
    const recipe::RunPlan plan = make_plan(dims, {}, 1);
    Stage stage(plan, 0, kSeqLen);
    stage.init_weights(11);
    const at::Tensor tokens = tokens_of(plan, 1, 0);
    const at::Tensor losses =
        composite::token_losses(stage.forward(tokens.narrow(1, 0, kSeqLen)), tokens.narrow(1, 1, kSeqLen));
    std::vector<at::Tensor> leaves;
    for (const StageParameter& p : stage.parameters()) leaves.push_back(p.compute);
    const auto grads = torch::autograd::grad({losses}, leaves, {at::ones_like(losses)});
    for (std::size_t i = 0; i < leaves.size(); ++i) {
      if (stage.parameters()[i].tied_head) continue;
      // Along the gradient itself the slope is its norm: large enough to stand out of fp32 noise.
      at::Tensor grad = grads[i];
      if (tied && i == 0) grad = grad + grads.back();
      const double norm = std::sqrt(leaf_sum_of_squares(grad.contiguous().const_data_ptr<float>(), grad.numel()));
      ASSERT_GT(norm, 0) << stage.parameters()[i].name;
      const double h = 0.1 / std::max(norm, 1.0);
      at::Tensor& master = stage.parameters()[i].master;
      const at::Tensor saved = master.clone(), direction = grad / norm;
      master.add_(direction, h);
      const double above = loss_of(stage, plan);
      master.copy_(saved - direction * h);
      const double below = loss_of(stage, plan);
      master.copy_(saved);
      EXPECT_NEAR((above - below) / (2 * h) / norm, 1, 0.02) << stage.parameters()[i].name << (tied ? ", tied" : "");
    }
  }
}

TEST(Stage, StartsNearTheLossOfAUniformGuess) {
  const recipe::RunPlan plan = make_plan(tiny_dims(), {}, 1), tied = make_plan(tiny_dims(true), {}, 1);
  for (const recipe::RunPlan& p : {plan, tied}) {
    Stage stage(p, 0, kSeqLen);
    stage.init_weights(1);
    EXPECT_NEAR(loss_of(stage, p) / (kMicro * kSeqLen), std::log(83.0), 0.8);
  }
}

TEST(Stage, DoesNotSeeTheFuture) {
  const recipe::RunPlan plan = make_plan(tiny_dims(), {}, 1);
  Stage stage(plan, 0, kSeqLen);
  stage.init_weights(1);
  const at::NoGradGuard no_grad;
  at::Tensor tokens = tokens_of(plan, 1, 0).narrow(1, 0, kSeqLen).clone();
  const at::Tensor before = stage.forward(tokens);
  tokens.select(1, 12).add_(1).remainder_(83);
  const at::Tensor after = stage.forward(tokens);
  EXPECT_TRUE(at::equal(before.narrow(1, 0, 12), after.narrow(1, 0, 12)));
  EXPECT_FALSE(at::equal(before.narrow(1, 12, 7), after.narrow(1, 12, 7)));
}

TEST(Rope, ScalingSlowsSlowRotationsAndKeepsFastOnes) {
  // Head dim 8, theta 10000: frequencies 1, 0.1, 0.01, 0.001; wavelengths 6.3, 63, 628, 6283.
  const recipe::RopeScaling scaling{
      .factor = 8, .low_freq_factor = 1, .high_freq_factor = 4, .original_max_position_embeddings = 1000};
  const at::Tensor plain = at::angle(rope_table(2, 8, 10000))[1],
                   scaled = at::angle(rope_table(2, 8, 10000, scaling))[1];
  const std::vector<float> was = floats(plain), is = floats(scaled);
  EXPECT_EQ(is[0], was[0]);  // below 1000 / 4
  EXPECT_EQ(is[1], was[1]);
  const double wavelength = 2 * std::acos(-1.0) / 0.01, smooth = (1000 / wavelength - 1) / 3;  // between
  EXPECT_NEAR(is[2], (1 - smooth) * 0.01 / 8 + smooth * 0.01, 1e-8);
  EXPECT_NEAR(is[3], 0.001 / 8, 1e-9);  // above 1000 / 1
}

TEST(Rope, AnAttentionFactorMakesRotationsLarger) {
  const recipe::RopeScaling scaling = *recipe::parse_rope_scaling("yarn:4:16:1.25");
  EXPECT_TRUE(at::allclose(rope_table(40, 8, 10000, scaling).abs(), at::full({40, 4}, 1.25), 1e-6, 0));
}

TEST(Attention, RefusesWhatTheFlashKernelCannotDoInsteadOfChangingKernels) {
  use_one_thread();
  const at::Tensor q = at::ones({1, 2, 8, 4}), v = at::ones({1, 2, 8, 6});
  EXPECT_ANY_THROW(at::scaled_dot_product_attention(q, q, v, {}, 0.0, true))
      << "unequal head dims need the math kernel";
}

AttentionWeights heads_of_6(const LinearWeight& q, const LinearWeight& k, const LinearWeight& v,
                            const LinearWeight& out) {
  return {.query = q, .key = k, .value = v, .out = out, .query_norm = {}, .key_norm = {}, .head_dim = 6};
}

TEST(Attention, GroupedHeadsEqualRepeatedHeads) {
  const at::Tensor x = at::arange(2 * 9 * 24, at::kFloat).sin().view({2, 9, 24}), rope = rope_table(9, 6, 10000);
  const auto weight = [](std::int64_t rows, double phase) {
    return (at::arange(rows * 24, at::kFloat) * 0.37 + phase).cos().view({rows, 24}) * 0.2;
  };
  const at::Tensor wq = weight(24, 0), wk = weight(12, 1), wv = weight(12, 2), wo = weight(24, 3);
  const auto repeat = [](const at::Tensor& w) { return w.view({2, 6, 24}).repeat_interleave(2, 0).view({24, 24}); };
  const at::Tensor wk4 = repeat(wk), wv4 = repeat(wv);
  EXPECT_TRUE(at::allclose(attention(x, heads_of_6({wq}, {wk}, {wv}, {wo}), rope, {}),
                           attention(x, heads_of_6({wq}, {wk4}, {wv4}, {wo}), rope, {}), 1e-5, 1e-6));
}

TEST(Attention, BiasesAreAddedBeforeTheRotation) {
  const at::Tensor x = at::arange(2 * 9 * 24, at::kFloat).sin().view({2, 9, 24}), rope = rope_table(9, 6, 10000);
  const auto weight = [](std::int64_t rows, double phase) {
    return (at::arange(rows * 24, at::kFloat) * 0.37 + phase).cos().view({rows, 24}) * 0.2;
  };
  const at::Tensor wq = weight(24, 0), wk = weight(12, 1), wv = weight(12, 2), wo = weight(24, 3);
  const at::Tensor q = at::arange(24, at::kFloat).sin(), k = at::arange(12, at::kFloat).cos(),
                   v = at::arange(12, at::kFloat).sin();
  // A further input that is always 1 carries the bias in a wider weight.
  const at::Tensor one = at::ones({2, 9, 1});
  const auto wide = [](const at::Tensor& w, const at::Tensor& bias) { return at::cat({w, bias.unsqueeze(1)}, 1); };
  const at::Tensor wide_q = wide(wq, q), wide_k = wide(wk, k), wide_v = wide(wv, v);
  const at::Tensor with = attention(x, heads_of_6({wq, 0, q}, {wk, 0, k}, {wv, 0, v}, {wo}), rope, {});
  EXPECT_TRUE(at::allclose(
      with, attention(at::cat({x, one}, 2), heads_of_6({wide_q}, {wide_k}, {wide_v}, {wo}), rope, {}), 1e-5, 1e-5));
  EXPECT_FALSE(at::allclose(with, attention(x, heads_of_6({wq}, {wk}, {wv}, {wo}), rope, {}), 1e-2, 1e-2));
}

}  // namespace
}  // namespace titan::train::stage_test
