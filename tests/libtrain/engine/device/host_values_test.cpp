#include "libtrain/engine/device/host_values.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <stdexcept>

namespace titan::train::host_values_test {
namespace {

TEST(HostValues, AreTheMemoryOfATensor) {
  const at::Tensor tensor = at::arange(6, at::kLong);
  mutable_host_values<std::int64_t>(tensor)[5] = 7;
  EXPECT_EQ(tensor[5].item<std::int64_t>(), 7);
  EXPECT_EQ(host_values<std::int64_t>(tensor).size(), 6u);
  EXPECT_EQ(host_bytes(tensor).size(), 48u);
  EXPECT_EQ(mutable_host_bytes(tensor.narrow(0, 2, 3)).data(), mutable_host_bytes(tensor).data() + 16);
  EXPECT_EQ(address_of(tensor.narrow(0, 2, 3)), address_of(tensor) + 16);
}

TEST(HostValues, AreNotThereForOtherTypesAndGaps) {
  const at::Tensor tensor = at::zeros({2, 3});
  EXPECT_THROW(host_values<double>(tensor), std::logic_error);
  EXPECT_THROW(host_values<float>(tensor.t()), std::logic_error);
}

TEST(HostValues, AreNotThereForADevice) {
  const at::Tensor tensor = at::zeros({2}, at::TensorOptions().device(at::kMeta));
  EXPECT_THROW(host_bytes(tensor), std::logic_error);
  EXPECT_THROW(mutable_host_values<float>(tensor), std::logic_error);
}

}  // namespace
}  // namespace titan::train::host_values_test
