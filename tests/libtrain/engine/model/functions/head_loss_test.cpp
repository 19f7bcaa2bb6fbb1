#include "libtrain/engine/model/functions/head_loss.h"

#include <cmath>

#include "tests/libtrain/support/composite.h"
#include "tests/libtrain/support/same_gradients.h"

namespace titan::train::head_loss_test {
namespace {

using namespace titan::test;

constexpr double kScale = 1.0 / 304;

struct Case {
  at::Tensor x, weight, targets;
};
Case make_case(at::ScalarType type) {
  return {leaf({2, 19, 40}, type, 1), leaf({83, 40}, type, 2), (at::arange(38, at::kLong) * 7 % 83).view({2, 19})};
}

TEST(HeadLoss, HasTheBitsOfTheSingleOperations) {
  use_one_thread();
  for (const at::ScalarType type : kTypes) {
    const auto [x, weight, targets] = make_case(type);
    const at::Tensor expected = composite::token_losses(at::linear(x, weight), targets);
    const auto grads = torch::autograd::grad({expected}, {x, weight}, {at::full_like(expected, kScale)});
    for (const std::int64_t whole : {0, 38, 100}) {
      const HeadLoss got = head_loss(x, weight, targets, kScale, Gemm::kMkl, whole);
      EXPECT_TRUE(equal_bits(got.losses, expected)) << type_name(type) << ", chunk " << whole;
      EXPECT_TRUE(equal_bits(got.grad_x, grads[0])) << type_name(type) << ", chunk " << whole;
      EXPECT_TRUE(equal_bits(got.grad_weight, grads[1])) << type_name(type) << ", chunk " << whole;
    }
  }
}

TEST(HeadLoss, GivesTheLossOfEachTokenInFp32) {
  const at::Tensor x = at::zeros({2, 3, 4}, at::kBFloat16), weight = at::zeros({5, 4}, at::kBFloat16);
  const HeadLoss got = head_loss(x, weight, at::zeros({2, 3}, at::kLong), 1, Gemm::kMkl);
  EXPECT_EQ(got.losses.sizes(), at::IntArrayRef({6}));
  EXPECT_EQ(got.losses.scalar_type(), at::kFloat);
  EXPECT_NEAR(got.losses[5].item<double>(), std::log(5.0), 1e-6);
}

TEST(HeadLoss, AddsUpItsChunks) {
  use_one_thread();
  for (const at::ScalarType type : kTypes) {
    const auto [x, weight, targets] = make_case(type);
    const HeadLoss whole = head_loss(x, weight, targets, kScale, Gemm::kMkl);
    const double tolerance = type == at::kFloat ? 1e-6 : 1e-2;
    for (const std::int64_t chunk : {1, 7, 19, 37}) {
      const HeadLoss got = head_loss(x, weight, targets, kScale, Gemm::kMkl, chunk);
      const std::string where = type_name(type) + ", chunk " + std::to_string(chunk);
      EXPECT_TRUE(at::allclose(got.losses, whole.losses, tolerance, tolerance)) << where;
      EXPECT_TRUE(at::allclose(got.grad_x, whole.grad_x, tolerance, tolerance)) << where;
      EXPECT_TRUE(at::allclose(got.grad_weight.to(type), whole.grad_weight, tolerance, tolerance)) << where;
      EXPECT_EQ(got.grad_x.sizes(), x.sizes());
      EXPECT_EQ(got.grad_weight.scalar_type(), at::kFloat) << "added up in fp32, " << where;
    }
  }
}

}  // namespace
}  // namespace titan::train::head_loss_test
