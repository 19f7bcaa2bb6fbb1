#include "libtrain/engine/device/cpu/cpu_device.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <array>

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
  const std::vector<at::Tensor> sums{cpu.kernels().loss_sum(at::ones({3})),
                                     cpu.kernels().loss_sum(at::full({2}, 0.25f))};
  EXPECT_EQ(cpu.read(sums), (std::vector<double>{3, 0.5}));
}

}  // namespace
}  // namespace titan::train::cpu_device_test
