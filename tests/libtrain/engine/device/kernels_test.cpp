#include "libtrain/engine/device/kernels.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>
#include <vector>

#include "libtrain/engine/device/cpu/cpu_kernels.h"

namespace titan::train::kernels_test {
namespace {

TEST(Kernels, AddRowsAsATreeOfPairsInFp32) {
  CpuKernels kernels;
  // 2^24 takes no single 1: only pairs of the others come to it.
  const std::vector<at::Tensor> rows{at::full({2}, 16777216.0f), at::zeros({2}), at::ones({2}), at::ones({2})};
  EXPECT_TRUE(at::equal(kernels.add_rows(rows), at::full({2}, 16777218.0f)));
  EXPECT_EQ(rows[0][0].item<float>(), 16777216.0f) << "rows are left as they were";
  const std::vector<at::Tensor> narrow{at::full({1}, 256, at::kBFloat16), at::ones({1}, at::kBFloat16)};
  EXPECT_TRUE(at::equal(kernels.add_rows(narrow), at::full({1}, 257.0f)));
}

TEST(Kernels, GiveTheGradientsOfACrossEntropy) {
  CpuKernels kernels;
  const at::Tensor logits = at::rand({3, 5}).mul_(4), targets = at::tensor({4L, static_cast<long>(kNoTarget), 0L});
  const at::Tensor grad = kernels.logit_gradients(at::log_softmax(logits, 1), targets, 0.5, at::kFloat);
  at::Tensor expected = at::softmax(logits, 1).mul_(0.5);
  expected[0][4] -= 0.5;
  expected[2][0] -= 0.5;
  expected[1].zero_();
  EXPECT_TRUE(at::allclose(grad, expected, 1e-5, 1e-6));
}

TEST(Kernels, HaveNoMaskOfTheirOwn) {
  struct Plain final : CpuKernels {
    at::Tensor masked_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                const at::Tensor& mask) override {
      return Kernels::masked_attention(q, k, v, mask);
    }
  } plain;
  const at::Tensor x = at::rand({1, 1, 2, 4});
  EXPECT_THROW(plain.masked_attention(x, x, x, {}), std::invalid_argument);
}

}  // namespace
}  // namespace titan::train::kernels_test
