#include "libtrain/engine/device/cpu_device.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "libtrain/engine/device/host_values.h"

namespace titan::train::cpu_device_test {
namespace {

TEST(CpuDevice, CopiesNothingBetweenHostAndItself) {
  CpuDevice cpu;
  const at::Tensor values = at::rand({5});
  EXPECT_TRUE(cpu.host_for(values).is_same(values));
  EXPECT_TRUE(cpu.from_host(values).is_same(values));
  EXPECT_EQ(address_of(cpu.to_host(values)), address_of(values));
  std::array<std::byte, 20> scratch{};
  EXPECT_EQ(cpu.bytes(values, scratch).data(), host_bytes(values).data());
  EXPECT_EQ(cpu.fence(), nullptr);
}

TEST(CpuDevice, AddsNothingToWhatIsSaidOfTheHost) {
  CpuDevice cpu;
  EXPECT_EQ(cpu.name(), "cpu");
  EXPECT_TRUE(cpu.environment().empty()) << "ids and classes of checkpoints on the CPU stay";
  EXPECT_EQ(cpu.memory().total, 0u);
  EXPECT_NE(cpu.host_memory(5), nullptr);
  EXPECT_EQ(cpu.host_tensor({2, 3}, at::kLong).sizes(), (std::vector<std::int64_t>{2, 3}));
}

TEST(CpuDevice, CopiesForASaverWhatItIsGiven) {
  CpuDevice cpu;
  const at::Tensor values = at::rand({5}), copy = at::zeros({3});
  cpu.copy_out(values.narrow(0, 1, 3), mutable_host_bytes(copy), nullptr);
  EXPECT_TRUE(at::equal(copy, values.narrow(0, 1, 3)));
}

TEST(CpuDevice, ReadsNumbersInTheirOrder) {
  CpuDevice cpu;
  const std::vector<at::Tensor> sums{cpu.loss_sum(at::ones({3})), cpu.loss_sum(at::full({2}, 0.25f))};
  EXPECT_EQ(cpu.read(sums), (std::vector<double>{3, 0.5}));
}

TEST(CpuDevice, GivesEachLeafItsEntries) {
  CpuDevice cpu;
  const at::Tensor values = at::tensor({1.0f, -3.0f, 2.0f, 5.0f, std::nanf("")});
  std::array<double, 4> entries{};
  const auto leaves_of = [&](int width) {
    return std::vector<Device::Leaf>{{&values, 0, 2, entries.data()}, {&values, 2, 2, entries.data() + width}};
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

}  // namespace
}  // namespace titan::train::cpu_device_test
