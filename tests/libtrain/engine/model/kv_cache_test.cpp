#include "libtrain/engine/model/kv_cache.h"

#include <gtest/gtest.h>

#include <ATen/ATen.h>

#include "libtrain/engine/model/stage.h"
#include "recipe/plan/run_plan.h"
#include "tests/libtrain/support/tiny_model.h"

namespace titan::train::kv_cache_test {
namespace {

using namespace titan::test;

at::Tensor keys(std::int64_t tokens, std::uint64_t seed) {
  return random_tensor(2 * tokens * 6, seed).view({1, 2, tokens, 6});
}

TEST(KvCache, HoldsAllTokensOfEveryLayer) {
  KvCache cache(2);
  const at::Tensor a = keys(3, 1), b = keys(3, 2), c = keys(1, 3), d = keys(1, 4);
  cache.append(0, a, b);
  cache.append(1, b, a);
  cache.advance(3);
  const KvCache::KeysValues first = cache.append(0, c, d), second = cache.append(1, d, c);
  cache.advance(1);
  EXPECT_EQ(cache.length(), 4);
  EXPECT_TRUE(at::equal(first.k_BGTK, at::cat({a, c}, 2)));
  EXPECT_TRUE(at::equal(first.v_BGTK, at::cat({b, d}, 2)));
  EXPECT_TRUE(at::equal(second.k_BGTK, at::cat({b, d}, 2)));
}

TEST(KvCache, GrowsWithoutLosingATokenOrTheType) {
  KvCache cache(1);
  std::vector<at::Tensor> all;
  for (std::int64_t tokens : {250, 5, 1, 1, 300, 1}) {
    all.push_back(keys(tokens, static_cast<std::uint64_t>(all.size())).to(at::kBFloat16));
    const KvCache::KeysValues seen = cache.append(0, all.back(), all.back());
    cache.advance(tokens);
    EXPECT_EQ(seen.k_BGTK.scalar_type(), at::kBFloat16);
    EXPECT_TRUE(at::equal(seen.v_BGTK, at::cat(all, 2)));
  }
}

struct Case {
  const char* name;
  recipe::ModelDims dims;
};
std::vector<Case> cases() {
  recipe::ModelDims biased = tiny_dims(), scaled = tiny_dims(true), one = tiny_dims(), window = tiny_dims(),
                    post = tiny_dims(), experts = tiny_dims();
  window.window = {5, {{1, 2}}};
  post.post_norm = post.qk_norm = post.whole_qk_norm = true;
  experts.experts = true;
  experts.n_experts = 4;
  experts.experts_per_token = 2;
  biased.qkv_bias = true;
  scaled.rope_scaling = recipe::RopeScaling{};
  one.n_kv_heads = 4;
  return {{"grouped heads", tiny_dims()},
          {"biases", biased},
          {"tied, scaled", scaled},
          {"a head each", one},
          {"window", window},
          {"norms after the blocks", post},
          {"experts", experts}};
}

class Decoding : public testing::Test {
 protected:
  static constexpr std::int64_t kTokens = 23;
  static void draw(Stage& stage) {
    stage.init_weights(3);
    for (StageParameter& p : stage.parameters())
      if (p.name.ends_with(".bias")) p.master.copy_(random_tensor(p.master.numel(), 8));
    stage.refresh();
  }
  at::Tensor tokens_ = (at::arange(kTokens, at::kLong) * 31 + 7) % 83;
};

TEST_F(Decoding, GivesTheLogitsOfTheWholeForward) {
  use_one_thread();
  const at::NoGradGuard no_grad;
  for (const Case& one : cases()) {
    Stage stage(recipe::whole_model_plan(one.dims, kTokens), 0, kTokens);
    draw(stage);
    const at::Tensor all_TV = stage.forward(tokens_.unsqueeze(0))[0];
    for (const std::int64_t prompt : {1, 2, 11}) {
      KvCache cache(static_cast<std::size_t>(one.dims.n_layers));
      at::Tensor logits = stage.extend(tokens_.narrow(0, 0, prompt), cache);
      for (std::int64_t t = prompt;; ++t) {
        EXPECT_TRUE(at::allclose(logits, all_TV[t - 1], 1e-5, 1e-5)) << one.name << " token " << t;
        if (t == kTokens) break;
        logits = stage.extend(tokens_.narrow(0, t, 1), cache);
      }
    }
  }
}

TEST_F(Decoding, WithoutACacheGivesTheSame) {
  const at::NoGradGuard no_grad;
  Stage stage(recipe::whole_model_plan(tiny_dims(), kTokens), 0, kTokens);
  draw(stage);
  const at::Tensor all_TV = stage.forward(tokens_.unsqueeze(0))[0];
  EXPECT_TRUE(at::allclose(stage.next_logits(tokens_), all_TV[kTokens - 1], 1e-5, 1e-5));
}

TEST_F(Decoding, InBf16NeedsNoMasters) {
  const at::NoGradGuard no_grad;
  recipe::RunPlan plan = recipe::whole_model_plan(tiny_dims(), kTokens);
  plan.bf16 = true;
  Stage stage(plan, 0, kTokens);
  draw(stage);
  const at::Tensor before = stage.next_logits(tokens_);
  stage.drop_masters();
  KvCache cache(3);
  stage.extend(tokens_.narrow(0, 0, kTokens - 1), cache);
  const at::Tensor after = stage.extend(tokens_.narrow(0, kTokens - 1, 1), cache);
  EXPECT_TRUE(at::equal(stage.next_logits(tokens_), before));
  EXPECT_TRUE(at::allclose(after.to(at::kFloat), before.to(at::kFloat), 0.1, 0.1));
}

TEST_F(Decoding, RefusesManyTokensBehindOthers) {
  const at::NoGradGuard no_grad;
  Stage stage(recipe::whole_model_plan(tiny_dims(), kTokens), 0, kTokens);
  draw(stage);
  KvCache cache(3);
  stage.extend(tokens_.narrow(0, 0, 4), cache);
  EXPECT_THROW(stage.extend(tokens_.narrow(0, 4, 2), cache), std::invalid_argument);
}

}  // namespace
}  // namespace titan::train::kv_cache_test
