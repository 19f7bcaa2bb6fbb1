#include "libtrain/engine/model/causal_attention.h"

#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>

#include "libtrain/engine/model/stage.h"
#include "tests/libtrain/support/tiny_model.h"

namespace titan::train::causal_attention_test {
namespace {

using namespace titan::test;

constexpr std::int64_t kHeads = 4, kGroups = 2, kHead = 6;

at::Tensor heads(std::int64_t count, std::int64_t tokens, std::uint64_t seed) {
  return random_tensor(count * tokens * kHead, seed).view({1, count, tokens, kHead}).set_requires_grad(true);
}

// Written out, with a mask of all tokens against all.
at::Tensor reference(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, std::int64_t window) {
  const std::int64_t tokens = q.size(2);
  const at::Tensor behind = at::arange(tokens).unsqueeze(1) - at::arange(tokens).unsqueeze(0);
  const at::Tensor hidden = at::logical_or(behind < 0, behind >= window);
  const at::Tensor all_k = k.repeat_interleave(kHeads / kGroups, 1), all_v = v.repeat_interleave(kHeads / kGroups, 1);
  const at::Tensor scores = at::matmul(q, all_k.transpose(2, 3)) / std::sqrt(static_cast<double>(kHead));
  return at::matmul(at::softmax(scores.masked_fill(hidden, -INFINITY), 3), all_v);
}

// Rows of one block, of a whole number of blocks, and of a part more; windows within a block and beyond one.
TEST(Window, SeesTheNewestTokensAlone) {
  use_one_thread();
  for (const std::int64_t tokens : {7, 512, 1029}) {
    for (const std::int64_t size : {1, 3, 6, 600}) {
      const at::Tensor q = heads(kHeads, tokens, 1), k = heads(kGroups, tokens, 2), v = heads(kGroups, tokens, 3);
      const Window window{size, window_mask(size, tokens, at::kFloat)};
      EXPECT_EQ(window.mask.defined(), size < tokens);
      const at::Tensor out = causal_attention(q, k, v, window), expected = reference(q, k, v, size);
      EXPECT_TRUE(at::allclose(out, expected, 1e-5, 1e-5)) << tokens << " tokens, window " << size;
      const at::Tensor grad = random_tensor(out.numel(), 4).view(out.sizes());
      const auto grads = torch::autograd::grad({out}, {q, k, v}, {grad}),
                 wanted = torch::autograd::grad({expected}, {q, k, v}, {grad});
      for (std::size_t i = 0; i < grads.size(); ++i)
        EXPECT_TRUE(at::allclose(grads[i], wanted[i], 1e-4, 1e-5)) << tokens << " tokens, window " << size << ", " << i;
    }
  }
}

TEST(Window, ThatIsNoShorterThanTheRowChangesNoBit) {
  use_one_thread();
  const at::Tensor q = heads(kHeads, 40, 1), k = heads(kGroups, 40, 2), v = heads(kGroups, 40, 3);
  const at::Tensor whole = causal_attention(q, k, v, {});
  EXPECT_TRUE(at::equal(causal_attention(q, k, v, {40, {}}), whole));
  EXPECT_FALSE(at::equal(causal_attention(q, k, v, {39, window_mask(39, 64, at::kFloat)}), whole));
}

recipe::ModelDims windowed(ckpt::SampleRanges layers = {}) {
  recipe::ModelDims dims = tiny_dims();
  dims.window = {5, std::move(layers)};
  return dims;
}

at::Tensor logits_of(const recipe::ModelDims& dims, const at::Tensor& tokens_BT) {
  Stage stage(make_plan(dims, {}, 1), 0, kSeqLen);
  stage.init_weights(3);
  return stage.forward(tokens_BT);
}

TEST(Window, IsOfTheLayersThatHaveIt) {
  use_one_thread();
  const at::NoGradGuard no_grad;
  const at::Tensor tokens = at::arange(kSeqLen, at::kLong).unsqueeze(0), all = logits_of(windowed(), tokens),
                   none = logits_of(tiny_dims(), tokens), last = logits_of(windowed({{2, 1}}), tokens);
  EXPECT_TRUE(at::equal(all.narrow(1, 0, 5), none.narrow(1, 0, 5)) ||
              at::allclose(all.narrow(1, 0, 5), none.narrow(1, 0, 5), 1e-5, 1e-5));
  for (const at::Tensor& other : {none, last})
    EXPECT_FALSE(at::allclose(all.narrow(1, 5, 14), other.narrow(1, 5, 14), 1e-4, 1e-4));
  EXPECT_FALSE(at::allclose(last, none, 1e-4, 1e-4));
  // Three layers of windows of 5 reach 12 tokens back: the last of 19 does not see the first.
  at::Tensor changed = tokens.clone();
  changed[0][0] = 50;
  EXPECT_TRUE(at::equal(logits_of(windowed(), changed)[0][18], all[0][18]));
  EXPECT_FALSE(at::equal(logits_of(windowed({{2, 1}}), changed)[0][18], last[0][18]));
}

TEST(Window, IsWithinEachOfTheDocumentsThatAreApart) {
  use_one_thread();
  const at::NoGradGuard no_grad;
  Stage stage(make_plan(windowed(), {}, 1), 0, kSeqLen);
  stage.init_weights(3);
  const at::Tensor tokens = (at::arange(2 * kSeqLen, at::kLong) * 7 % 83).view({2, kSeqLen});
  const Documents documents = documents_of(std::vector<std::vector<std::int64_t>>{{9}, {}}, kSeqLen, stage.rope());
  at::Tensor x = tokens;
  for (std::size_t i = 0; i < stage.segments(); ++i) x = stage.run(i, x, nullptr, documents);
  const auto alone = [&](const at::Tensor& some) {
    at::Tensor y = some.unsqueeze(0);
    for (std::size_t i = 0; i < stage.segments(); ++i) y = stage.run(i, y, nullptr);
    return y[0];
  };
  EXPECT_TRUE(at::allclose(x[0].narrow(0, 0, 9), alone(tokens[0].narrow(0, 0, 9)), 1e-5, 1e-5));
  EXPECT_TRUE(at::allclose(x[0].narrow(0, 9, 10), alone(tokens[0].narrow(0, 9, 10)), 1e-5, 1e-5));
  EXPECT_TRUE(at::allclose(x[1], alone(tokens[1]), 1e-5, 1e-5));
}

}  // namespace
}  // namespace titan::train::causal_attention_test
