#include "libtrain/engine/model/functions/rms_norm.h"

#include <cmath>

#include "tests/libtrain/support/composite.h"
#include "tests/libtrain/support/same_gradients.h"

namespace titan::train::rms_norm_test {
namespace {

using namespace titan::test;

constexpr double kEps = 1e-5;

TEST(RmsNorm, HasTheBitsOfTheSingleOperations) {
  use_one_thread();
  for (const at::ScalarType type : kTypes) {
    for (const std::vector<std::int64_t>& shape :
         {std::vector<std::int64_t>{2, 19, 40}, {1, 1, 1}, {3, 7, 33}, {1, 5, 1027}}) {
      expect_same_bits([](const auto& in) { return rms_norm(in[0], in[1], kEps); },
                       [](const auto& in) { return composite::rms_norm(in[0], in[1], kEps); },
                       {leaf(shape, type, 1), leaf({shape.back()}, type, 2)}, type_name(type));
    }
  }
}

// x's gradient has three parts; their order shows in fp32.
TEST(RmsNormBranch, AddsUpTheGradientAsAutogradDoes) {
  use_one_thread();
  for (const at::ScalarType type : kTypes) {
    const auto own = [](const auto& in) {
      const Branch branch = rms_norm_branch(in[0] * 1, in[1], kEps);
      return branch.x + branch.normed.tanh();
    };
    const auto single = [](const auto& in) {
      const at::Tensor x = in[0] * 1;
      return x + composite::rms_norm(x, in[1], kEps).tanh();
    };
    expect_same_bits(own, single, {leaf({3, 11, 129}, type, 3), leaf({129}, type, 4)}, type_name(type));
  }
}

TEST(RmsNormBranch, OfASumHasTheBitsOfTheSingleOperations) {
  use_one_thread();
  for (const at::ScalarType type : kTypes) {
    const auto own = [](const auto& in) {
      const Branch branch = rms_norm_branch(in[0] * 1, in[1] * 1, in[2], kEps);
      return branch.x + branch.normed.tanh();
    };
    const auto single = [](const auto& in) {
      const at::Tensor sum = in[0] * 1 + in[1] * 1;
      return sum + composite::rms_norm(sum, in[2], kEps).tanh();
    };
    expect_same_bits(own, single, {leaf({3, 11, 129}, type, 3), leaf({3, 11, 129}, type, 5), leaf({129}, type, 4)},
                     type_name(type));
  }
}

TEST(RmsNorm, DividesByTheRootOfTheMeanSquare) {
  const at::Tensor x = at::tensor({3.0f, 4.0f, 0.0f, 0.0f}).view({1, 1, 4}), w = at::tensor({1.0f, 2.0f, 1.0f, 1.0f});
  const std::vector<float> y = floats(rms_norm(x, w, 0.75));  // mean square 6.25 + 0.75 = 7
  EXPECT_NEAR(y[0], 3 / std::sqrt(7.0), 1e-6);
  EXPECT_NEAR(y[1], 8 / std::sqrt(7.0), 1e-6);
}

}  // namespace
}  // namespace titan::train::rms_norm_test
