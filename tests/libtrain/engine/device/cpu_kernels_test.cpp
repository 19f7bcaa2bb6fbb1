#include "libtrain/engine/device/cpu_kernels.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>

namespace titan::train::cpu_kernels_test {
namespace {

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

}  // namespace
}  // namespace titan::train::cpu_kernels_test
