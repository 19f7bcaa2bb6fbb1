#include "libtrain/engine/model/functions/rope.h"

#include <cmath>

#include "tests/libtrain/support/composite.h"
#include "tests/libtrain/support/same_gradients.h"

namespace titan::train::rope_test {
namespace {

using namespace titan::test;

TEST(Rope, HasTheBitsOfTheSingleOperations) {
  use_one_thread();
  for (const at::ScalarType type : kTypes) {
    for (const std::vector<std::int64_t>& shape :
         {std::vector<std::int64_t>{2, 19, 4, 10}, {1, 1, 1, 2}, {3, 7, 3, 34}}) {
      const at::Tensor table = rope_table(19, shape.back(), 10000);
      expect_same_bits([&](const auto& in) { return apply_rope(in[0], table); },
                       [&](const auto& in) { return composite::rope(in[0], table); }, {leaf(shape, type, 1)},
                       type_name(type));
    }
  }
}

// As attention hands it back: heads before tokens.
TEST(Rope, TurnsBackAGradientThatIsNotContiguous) {
  use_one_thread();
  const at::Tensor table = rope_table(19, 10, 10000);
  for (const at::ScalarType type : kTypes) {
    expect_same_bits([&](const auto& in) { return apply_rope(in[0], table).transpose(1, 2).contiguous(); },
                     [&](const auto& in) { return composite::rope(in[0], table).transpose(1, 2).contiguous(); },
                     {leaf({2, 19, 3, 10}, type, 1)}, type_name(type));
  }
}

TEST(Rope, RotatesAdjacentPairsByKnownAngles) {
  // One head of dim 4, theta 10000: frequencies 1 and 0.01.
  const at::Tensor table = rope_table(3, 4, 10000);
  at::Tensor x_BTHK = at::arange(1, 13, at::kFloat).view({1, 3, 1, 4});
  const std::vector<float> got = floats(apply_rope(x_BTHK, table));
  for (int t = 0; t < 3; ++t) {
    for (int pair = 0; pair < 2; ++pair) {
      const double angle = t * (pair == 0 ? 1.0 : 0.01), a = 4 * t + 2 * pair + 1, b = a + 1;
      EXPECT_NEAR(got[4 * t + 2 * pair], a * std::cos(angle) - b * std::sin(angle), 2e-6);
      EXPECT_NEAR(got[4 * t + 2 * pair + 1], a * std::sin(angle) + b * std::cos(angle), 2e-6);
    }
  }
}

TEST(Rope, ScoresDependOnDistanceOnly) {
  const at::Tensor table = rope_table(64, 8, 500000);
  const at::Tensor q = at::arange(8, at::kFloat).cos(), k = at::arange(8, at::kFloat).sin();
  const auto score = [&](std::int64_t i, std::int64_t j) {
    at::Tensor rows = at::zeros({1, 64, 1, 8});
    rows[0][i][0] = q;
    const at::Tensor turned_q = apply_rope(rows, table)[0][i][0];
    rows[0][j][0] = k;
    return at::dot(turned_q, apply_rope(rows, table)[0][j][0]).item<double>();
  };
  EXPECT_NEAR(score(10, 3), score(50, 43), 1e-5);
  EXPECT_GT(std::abs(score(10, 3) - score(10, 9)), 1e-2);
}

TEST(Rope, KeepsBf16AndComputesInFp32) {
  const at::Tensor table = rope_table(7, 10, 10000);
  const at::Tensor x = at::arange(7 * 10, at::kFloat).sin().view({1, 7, 1, 10}).to(at::kBFloat16);
  const at::Tensor got = apply_rope(x, table);
  EXPECT_EQ(got.scalar_type(), at::kBFloat16);
  EXPECT_TRUE(at::equal(got, apply_rope(x.to(at::kFloat), table).to(at::kBFloat16)));
}

}  // namespace
}  // namespace titan::train::rope_test
