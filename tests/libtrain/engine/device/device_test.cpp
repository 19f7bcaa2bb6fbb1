#include "libtrain/engine/device/device.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "libtrain/engine/device/cpu/cpu_device.h"
#include "libtrain/engine/device/host_values.h"

namespace titan::train::device_test {
namespace {

/// A device whose memory the host does not see: bytes() must copy.
class Apart final : public CpuDevice {
 public:
  at::Device place() const override { return at::kMeta; }
  std::span<const std::byte> bytes(const at::Tensor& values, std::span<std::byte> scratch) override {
    return Device::bytes(values, scratch);
  }
};

TEST(Device, IsTheCpuUntilAnotherIsChosen) {
  EXPECT_TRUE(device().place().is_cpu());
  Apart other;
  use_device(&other);
  EXPECT_TRUE(at::empty({2}, device().options(at::kFloat)).is_meta());
  use_device(nullptr);
  EXPECT_TRUE(at::empty({2}, device().options(at::kBFloat16)).is_cpu());
}

TEST(Device, CopiesBytesThatTheHostDoesNotSee) {
  Apart apart;
  const at::Tensor values = at::rand({4});
  std::array<std::byte, 32> scratch{};
  const std::span<const std::byte> bytes = apart.bytes(values, scratch);
  EXPECT_EQ(bytes.data(), scratch.data());
  ASSERT_EQ(bytes.size(), 16u);
  EXPECT_EQ(std::memcmp(bytes.data(), host_bytes(values).data(), 16), 0);
}

}  // namespace
}  // namespace titan::train::device_test
