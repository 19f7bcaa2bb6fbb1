#include "libtrain/engine/device/cpu/cpu_kernels.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "tests/libtrain/support/composite.h"

namespace titan::train::cpu_kernels_test {
namespace {

using namespace test;

TEST(CpuKernels, GiveEachLeafItsEntries) {
  CpuKernels cpu;
  const at::Tensor values = at::tensor({1.0f, -3.0f, 2.0f, 5.0f, std::nanf("")});
  std::array<double, 4> entries{};
  const auto leaves_of = [&](int width) {
    return std::vector<NormLeaf>{{&values, 0, 2, entries.data()}, {&values, 2, 2, entries.data() + width}};
  };
  cpu.leaf_norms(leaves_of(1), 2);
  EXPECT_EQ(entries[0], 10);
  EXPECT_EQ(entries[1], 29);
  cpu.leaf_norms(leaves_of(1), 0);
  EXPECT_EQ(entries[1], 5);
  EXPECT_EQ(entries[2], 0) << "one entry a leaf";
  cpu.leaf_norms(leaves_of(2), 1);
  EXPECT_EQ(entries[0], 3);
  EXPECT_EQ(entries[1], 2) << "1 and 3, halved";
  EXPECT_EQ(entries[3], 1.75) << "2 and 5, by four";
}

TEST(CpuKernels, AttendToWhatAMaskLeaves) {
  CpuKernels cpu;
  const at::Tensor q = at::rand({1, 2, 3, 4}), k = at::rand({1, 2, 3, 4}), v = at::rand({1, 2, 3, 4});
  const at::Tensor mask = at::full({3, 3}, -INFINITY).triu(1);
  EXPECT_TRUE(at::allclose(cpu.masked_attention(q, k, v, mask), cpu.attention(q, k, v, /*causal=*/true), 1e-5, 1e-6));
}

TEST(OrderedSum, AddsInIndexOrderInFp64) {
  at::Tensor losses = at::full({1001}, 1e-9f);
  losses[0] = 1.0f;
  EXPECT_NEAR(ordered_sum(losses), 1 + 1e-6, 1e-12);
}

// 49k classes, as SmolLM2 has: the mean over many tokens was 8e-6 low in fp32.
TEST(ExactTokenLosses, AreThoseOfFp64OverALargeVocabulary) {
  at::manual_seed(3);
  const at::Tensor logits = at::randn({2, 3, 49152}, at::kFloat) * 3;
  const at::Tensor targets = at::randint(49152, {2, 3}, at::kLong);
  const at::Tensor expected =
      at::cross_entropy_loss(logits.to(at::kDouble).flatten(0, 1), targets.flatten(), {}, at::Reduction::None);
  const at::Tensor exact = exact_token_losses(logits, targets);
  EXPECT_EQ(exact.scalar_type(), at::kDouble);
  EXPECT_LT((exact - expected).abs().max().item<double>(), 1e-12);
  EXPECT_GT((composite::token_losses(logits, targets).to(at::kDouble) - expected).abs().max().item<double>(), 1e-8)
      << "fp32 would not do";
}

TEST(ExactTokenLosses, AreNotANumberWhereALogitIsNone) {
  at::Tensor logits = at::zeros({1, 1, 4}, at::kFloat);
  logits[0][0][2] = std::nanf("");
  EXPECT_TRUE(std::isnan(exact_token_losses(logits, at::zeros({1, 1}, at::kLong))[0].item<double>()));
}

TEST(OrderedSum, TakesOneAfterTheOther) {
  // Beside 2^60 a one is lost; any other order, or sums of parts, would keep some of them.
  at::Tensor losses = at::ones({4096});
  losses[0] = std::ldexp(1.0f, 60);
  losses[4095] = -std::ldexp(1.0f, 60);
  EXPECT_EQ(ordered_sum(losses), 0);
}

}  // namespace
}  // namespace titan::train::cpu_kernels_test
