#include "libtrain/engine/model/moe.h"

#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <map>

#include "libtrain/engine/pipeline/stage_gradients.h"
#include "tests/libtrain/support/tiny_model.h"

namespace titan::train::moe_test {
namespace {

using namespace titan::test;

constexpr std::int64_t kWidth = 6, kInner = 10, kTokens = 24;

at::Tensor leaf(std::int64_t rows, std::int64_t columns, std::uint64_t seed) {
  return random_tensor(rows * columns, seed).view({rows, columns}).set_requires_grad(true);
}

/// Keeps the products of weights, and what was noted.
struct Kept final : GradientSink {
  void take(WeightProduct product) override { of_weight[product.parameter] = product.multiply(); }
  void note_balance(at::Tensor loss) override { balance.push_back(loss); }
  std::map<std::size_t, at::Tensor> of_weight;
  std::vector<at::Tensor> balance;
};

struct Model {
  explicit Model(std::int64_t experts) : router(leaf(experts, kWidth, 1)) {
    for (std::int64_t i = 0; i < experts; ++i) {
      const auto seed = static_cast<std::uint64_t>(10 * i);
      weights.push_back(
          {leaf(kInner, kWidth, seed + 2), leaf(kWidth, kInner, seed + 3), leaf(kInner, kWidth, seed + 4)});
    }
  }
  MoeWeights of(std::int64_t per_token, bool normed, double balance = 0) const {
    MoeWeights w{.router = {router, 0}, .experts = {}, .per_token = per_token, .normed = normed, .balance = balance};
    for (std::size_t i = 0; i < weights.size(); ++i)
      w.experts.push_back(
          {.gate = {weights[i][0], 3 * i + 1}, .down = {weights[i][1], 3 * i + 2}, .up = {weights[i][2], 3 * i + 3}});
    return w;
  }
  std::vector<at::Tensor> leaves() const {
    std::vector<at::Tensor> all{router};
    for (const auto& expert : weights) all.insert(all.end(), expert.begin(), expert.end());
    return all;
  }
  at::Tensor router;
  std::vector<std::array<at::Tensor, 3>> weights;
};

/// All experts of all tokens, each weighted by 0 where the token does not take it.
at::Tensor reference(const at::Tensor& x, const Model& model, std::int64_t per_token, bool normed) {
  const at::Tensor probabilities = at::softmax(at::linear(x, model.router), -1);
  const auto [values, chosen] = at::topk(probabilities, per_token, -1);
  at::Tensor weights = at::zeros_like(probabilities).scatter(-1, chosen, values);
  if (normed) weights = weights / weights.sum(-1, true);
  at::Tensor sum = at::zeros_like(x);
  for (std::size_t i = 0; i < model.weights.size(); ++i) {
    const auto& [gate, down, up] = model.weights[i];
    const at::Tensor out = at::linear(at::silu(at::linear(x, gate)) * at::linear(x, up), down);
    sum = sum + out * weights.select(-1, static_cast<std::int64_t>(i)).unsqueeze(-1);
  }
  return sum;
}

at::Tensor input() {
  return random_tensor(kTokens * kWidth, 99).view({2, kTokens / 2, kWidth}).set_requires_grad(true);
}

// Twelve experts for 24 tokens that take one each: some have none.
TEST(Moe, EqualsTheSumOverAllExpertsInValuesAndGradients) {
  use_one_thread();
  for (const auto& [experts, per_token, normed] :
       {std::tuple{4, 2, true}, std::tuple{4, 2, false}, std::tuple{12, 1, false}, std::tuple{3, 3, true}}) {
    const Model model(experts);
    const at::Tensor x = input();
    const at::Tensor out = moe(x, model.of(per_token, normed), {}), expected = reference(x, model, per_token, normed);
    EXPECT_TRUE(at::allclose(out, expected, 1e-5, 1e-5)) << experts;
    const at::Tensor grad = random_tensor(out.numel(), 5).view(out.sizes());
    std::vector<at::Tensor> leaves = model.leaves();
    leaves.push_back(x);
    const auto grads = torch::autograd::grad({out}, leaves, {grad}),
               wanted = torch::autograd::grad({expected}, leaves, {grad});
    for (std::size_t i = 0; i < leaves.size(); ++i)
      EXPECT_TRUE(at::allclose(grads[i], wanted[i], 1e-4, 1e-5)) << experts << " experts, leaf " << i;
  }
}

TEST(Moe, ASinkGetsAGradientOfEveryExpertAlsoWhereNoTokenTookIt) {
  use_one_thread();
  for (const Gemm gemm : {Gemm::kMkl, Gemm::kOneDnn}) {
    const Model model(12);
    const at::Tensor x = input();
    Kept kept;
    const at::Tensor out = moe(x, model.of(1, false), {.gemm = gemm, .sink = &kept});
    torch::autograd::grad({out}, {x}, {at::ones_like(out)});
    EXPECT_EQ(kept.of_weight.size(), 37u);
    std::size_t idle = 0;
    for (const auto& [parameter, gradient] : kept.of_weight) {
      EXPECT_EQ(gradient.sizes(), model.leaves()[parameter].sizes());
      idle += at::count_nonzero(gradient).item<std::int64_t>() == 0 ? 1 : 0;
    }
    EXPECT_GE(idle, 3u);
  }
}

TEST(Moe, TheBalanceLossIsNotedAndItsGradientGoesToTheRouter) {
  use_one_thread();
  constexpr double kWeight = 0.3;
  const Model model(4);
  const at::Tensor x = input();
  const auto router_gradient = [&](double balance, Kept& kept) {
    const at::Tensor out = moe(x, model.of(2, true, balance), {.sink = &kept});
    torch::autograd::grad({out}, {x}, {at::zeros_like(out)});  // what is left is of the balance loss
    return kept.of_weight.at(0);
  };
  Kept with, without;
  const at::Tensor found = router_gradient(kWeight, with);
  EXPECT_EQ(at::count_nonzero(router_gradient(0, without)).item<std::int64_t>(), 0);

  const at::Tensor probabilities = at::softmax(at::linear(x.flatten(0, 1), model.router), 1);
  const at::Tensor chosen = std::get<1>(at::topk(probabilities, 2, 1));
  const at::Tensor shares = at::one_hot(chosen, 4).to(at::kFloat).mean(0).sum(0);
  const at::Tensor loss = 4 * (shares * probabilities.mean(0)).sum();
  ASSERT_EQ(with.balance.size(), 1u);
  EXPECT_EQ(with.balance[0].scalar_type(), at::kDouble);
  EXPECT_NEAR(with.balance[0].item<double>(), loss.item<double>(), 1e-6);
  EXPECT_TRUE(at::allclose(found, torch::autograd::grad({loss}, {model.router})[0] * kWeight, 1e-4, 1e-5));
  EXPECT_EQ(with.balance[0].item<double>(), without.balance[0].item<double>());
}

// Nothing of one token reaches another.
TEST(Moe, ATokenIsComputedAloneAsAmongOthers) {
  use_one_thread();
  const at::NoGradGuard no_grad;
  const Model model(4);
  const at::Tensor x = input(), all = moe(x, model.of(2, true), {});
  const at::Tensor one = moe(x.narrow(1, 3, 1).narrow(0, 1, 1), model.of(2, true), {.single_row = true});
  EXPECT_TRUE(at::allclose(one.flatten(), all[1][3], 1e-5, 1e-5));
}

}  // namespace
}  // namespace titan::train::moe_test
