#include "libtrain/engine/exchange/tree_sum.h"

#include <algorithm>
#include <numeric>
#include <random>

#include <gtest/gtest.h>

#include "tests/libtrain/support/synthetic_gradient.h"
#include "tests/libtrain/support/tensors.h"

namespace titan::train::tree_sum_test {
namespace {

using namespace titan::test;

TEST(TreeSum, EqualsTheRecursionInAnyOrderOfArrival) {
  use_one_thread();
  for (const std::uint32_t count : {1u, 2u, 3u, 7u, 8u, 12u, 31u}) {
    std::vector<at::Tensor> grads;
    for (std::uint32_t i = 0; i < count; ++i) grads.push_back(synthetic_gradient("x", i, {13, 5}));
    const std::vector<float> expected = floats(recursive_sum(grads, {0, count}));
    for (std::uint32_t seed = 0; seed < 4; ++seed) {
      std::vector<std::uint32_t> order(count);
      std::iota(order.begin(), order.end(), 0u);
      if (seed > 0) std::shuffle(order.begin(), order.end(), std::mt19937(seed));
      TreeSum sum(count, {0, count});
      for (const std::uint32_t i : order) sum.insert(i, grads[i].clone());
      EXPECT_EQ(sum.held(), 1u);
      EXPECT_TRUE(same_bits(floats(sum.finish().at(0)), expected)) << "M " << count << ", seed " << seed;
      EXPECT_EQ(sum.held(), 0u);
    }
  }
}

TEST(TreeSum, DiffersFromAddingUpFromTheLeft) {
  std::vector<at::Tensor> grads;
  for (std::uint32_t i = 0; i < 8; ++i) grads.push_back(synthetic_gradient("x", i, {1000}));
  at::Tensor fold = grads[0].clone();
  for (std::uint32_t i = 1; i < 8; ++i) fold.add_(grads[i]);
  EXPECT_GT((fold != recursive_sum(grads, {0, 8})).sum().item<std::int64_t>(), 200);
}

TEST(TreeSum, ConvertsBfloat16BeforeTheFirstAddition) {
  TreeSum sum(2, {0, 2});
  sum.insert(0, at::full({1}, 256, at::kBFloat16));
  sum.insert(1, at::full({1}, 1, at::kBFloat16));
  const at::Tensor root = sum.finish().at(0);
  EXPECT_EQ(root.scalar_type(), at::kFloat);
  EXPECT_EQ(root.item<float>(), 257);
}

TEST(TreeSum, KeepsABfloat16GradientAsItIsUntilItMeetsAnother) {
  for (const std::uint32_t count : {1u, 2u, 3u, 5u, 8u, 13u}) {
    std::vector<at::Tensor> narrow, wide;
    for (std::uint32_t i = 0; i < count; ++i) {
      narrow.push_back(synthetic_gradient("x", i, {37}).to(at::kBFloat16));
      wide.push_back(narrow.back().to(at::kFloat));
    }
    const std::vector<float> expected = floats(recursive_sum(wide, {0, count}));
    for (std::uint32_t seed = 0; seed < 4; ++seed) {
      std::vector<std::uint32_t> order(count);
      std::iota(order.begin(), order.end(), 0u);
      std::shuffle(order.begin(), order.end(), std::mt19937(seed));
      TreeSum sum(count, {0, count});
      for (const std::uint32_t i : order) sum.insert(i, narrow[i].clone());
      const at::Tensor root = sum.finish().at(0);
      EXPECT_EQ(root.scalar_type(), at::kFloat);
      EXPECT_TRUE(same_bits(floats(root), expected)) << "M " << count << ", seed " << seed;
    }
  }
  TreeSum alone(2, {0, 2});
  alone.insert(0, at::full({2}, 3, at::kBFloat16));
  EXPECT_EQ(alone.take(0).scalar_type(), at::kBFloat16);
}

TEST(TreeSum, TakesRowsOfConsecutiveMicroBatchesAtOnce) {
  for (const std::uint32_t count : {1u, 2u, 3u, 6u, 8u, 12u, 13u, 40u})
    for (const std::uint32_t at_once : {1u, 2u, 3u, 5u, 8u, 9u, 16u})
      for (const at::ScalarType type : {at::kBFloat16, at::kFloat}) {
        std::vector<at::Tensor> grads, wide;
        for (std::uint32_t i = 0; i < count; ++i) {
          grads.push_back(synthetic_gradient("x", i, {37}).to(type));
          wide.push_back(grads.back().to(at::kFloat));
        }
        TreeSum sum(count, {0, count});
        for (std::uint32_t first = 0; first < count; first += at_once) {
          const std::vector<at::Tensor> rows(grads.begin() + first, grads.begin() + std::min(first + at_once, count));
          sum.insert_rows(first, rows);
        }
        EXPECT_TRUE(same_bits(floats(sum.finish().at(0)), floats(recursive_sum(wide, {0, count}))))
            << "M " << count << ", rows " << at_once;
        for (std::uint32_t i = 0; i < count; ++i) EXPECT_TRUE(at::equal(grads[i].to(at::kFloat), wide[i]));
      }
  TreeSum sum(8, {0, 8});
  const at::Tensor row = at::ones({2});
  sum.insert(2, row.clone());
  EXPECT_THROW(sum.insert_rows(0, {row, row, row, row}), std::logic_error);
  sum.insert_rows(3, {row});
  EXPECT_THROW(sum.insert_rows(7, {row, row}), std::logic_error);
}

TEST(TreeSum, CopiesOnlyWhatStaysOfABufferThatIsUsedAgain) {
  const at::Tensor buffer = at::empty({3, 4}), gradients = at::arange(12, at::kFloat).view({3, 4});
  TreeSum sum(3, {0, 3});
  for (std::uint32_t i = 0; i < 3; ++i) {
    buffer.fill_(-1);
    buffer[i].copy_(gradients[i]);
    sum.insert(i, buffer[i]);
  }
  buffer.fill_(-1);
  EXPECT_TRUE(
      same_bits(floats(sum.finish().at(0)), floats(recursive_sum({gradients[0], gradients[1], gradients[2]}, {0, 3}))));
}

TEST(TreeSum, KeepsFewSumsWhenMicroBatchesFinishInOrder) {
  TreeSum sum(64, {0, 64});
  std::size_t most = 0;
  for (std::uint32_t i = 0; i < 64; ++i) {
    sum.insert(i, at::ones({1}));
    most = std::max(most, sum.held());
  }
  EXPECT_LE(most, 6u);
}

TEST(TreeSum, GivesBackAGradientThatIsStillAlone) {
  TreeSum sum(8, {0, 8});
  sum.insert(3, at::full({2}, 5));
  EXPECT_EQ(sum.take(3).sum().item<float>(), 10);
  EXPECT_EQ(sum.held(), 0u);
  EXPECT_THROW(sum.take(3), std::logic_error);
  sum.insert(4, at::ones({1}));
  sum.insert(5, at::ones({1}));
  EXPECT_THROW(sum.take(4), std::logic_error) << "merged into [4,6)";
}

TEST(TreeSum, RefusesStrangersRepetitionsAndGaps) {
  TreeSum sum(8, {2, 6});
  sum.insert(3, at::ones({1}));
  EXPECT_THROW(sum.insert(3, at::ones({1})), std::logic_error);
  EXPECT_THROW(sum.insert(6, at::ones({1})), std::logic_error);
  sum.insert(2, at::ones({1}));
  EXPECT_THROW(sum.insert(2, at::ones({1})), std::logic_error) << "merged into [2,4)";
  sum.insert(4, at::ones({1}));
  EXPECT_THROW(sum.finish(), std::logic_error) << "micro-batch 5 is missing";
}

TEST(TreeSum, DoesNotAddIntoWhatSomebodyElseHolds) {
  // As autograd does for d(a + b): one tensor for both.
  const at::Tensor both = at::ones({3});
  TreeSum a(2, {0, 2}), b(2, {0, 2});
  a.insert(0, both);
  b.insert(0, both.view({3, 1}));
  a.insert(1, at::ones({3}));
  b.insert(1, at::ones({3, 1}));
  EXPECT_EQ(a.finish().at(0).sum().item<float>(), 6);
  EXPECT_EQ(b.finish().at(0).sum().item<float>(), 6);
  EXPECT_EQ(both.sum().item<float>(), 3);
}

}  // namespace
}  // namespace titan::train::tree_sum_test
