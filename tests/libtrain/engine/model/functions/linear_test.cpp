#include "libtrain/engine/model/functions/linear.h"

#include <utility>

#include "tests/libtrain/support/same_gradients.h"

namespace titan::train::linear_test {
namespace {

using namespace titan::test;

struct Shape {
  std::int64_t rows, in, out;
};
const Shape kShapes[] = {{19, 40, 77}, {1, 1, 1}, {5, 33, 129}, {64, 96, 80}};

TEST(Linear, HasTheBitsOfTheSingleOperations) {
  use_one_thread();
  for (const at::ScalarType type : kTypes) {
    for (const auto [rows, in, out] : kShapes) {
      const at::Tensor x = leaf({2, rows, in}, type, 1), weight = leaf({out, in}, type, 2), bias = leaf({out}, type, 3);
      expect_same_bits(
          [](const auto& t) {
            return linear(t[0], {t[1], 0}, {});
          },
          [](const auto& t) { return at::linear(t[0], t[1]); }, {x, weight}, type_name(type));
      expect_same_bits(
          [](const auto& t) {
            return linear(t[0], {t[1], 0, t[2]}, {});
          },
          [](const auto& t) { return at::linear(t[0], t[1], t[2]); }, {x, weight, bias},
          type_name(type) + " with a bias");
    }
  }
}

struct Later final : GradientSink {
  void take(WeightProduct product) override { products.push_back(std::move(product)); }
  std::vector<WeightProduct> products;
};

TEST(Linear, LeavesTheWeightsProductToTheSinkOnceAndWithTheSameBits) {
  use_one_thread();
  for (const at::ScalarType type : kTypes) {
    const at::Tensor x = leaf({2, 19, 40}, type, 1), first = leaf({33, 40}, type, 2), second = leaf({7, 33}, type, 3);
    Later sink;
    const at::Tensor got = linear(linear(x, {first, 4}, {Gemm::kMkl, &sink}), {second, 9}, {Gemm::kMkl, &sink});
    const at::Tensor expected = at::linear(at::linear(x, first), second);
    const at::Tensor seed = at::ones_like(expected);
    const auto grads = torch::autograd::grad({expected}, {x, first, second}, {seed});
    EXPECT_TRUE(sink.products.empty()) << "nothing before the backward";
    EXPECT_TRUE(equal_bits(torch::autograd::grad({got}, {x}, {seed})[0], grads[0]));
    ASSERT_EQ(sink.products.size(), 2u);
    EXPECT_EQ(sink.products[0].parameter, 9u);
    EXPECT_EQ(sink.products[1].parameter, 4u);
    EXPECT_TRUE(equal_bits(sink.products[0].multiply(), grads[2])) << type_name(type);
    EXPECT_TRUE(equal_bits(sink.products[1].multiply(), grads[1])) << type_name(type);
  }
}

}  // namespace
}  // namespace titan::train::linear_test
