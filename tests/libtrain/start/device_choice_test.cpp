#include "libtrain/start/device_choice.h"

#include <gmock/gmock.h>

namespace titan::train {
namespace {

TEST(DeviceChoice, AutoIsCudaOnlyWhereDriverAndModuleAre) {
  EXPECT_EQ(choose_device("auto", true, true).kind, DeviceKind::kCuda);
  EXPECT_EQ(choose_device("auto", false, true).kind, DeviceKind::kCpu);
  EXPECT_EQ(choose_device("auto", false, true).note, "") << "a host without GPU is nothing to speak of";
  EXPECT_EQ(choose_device("auto", true, false).kind, DeviceKind::kCpu);
  EXPECT_THAT(choose_device("auto", true, false).note, testing::HasSubstr("built without CUDA"));
}

TEST(DeviceChoice, WhatIsNamedIsTaken) {
  EXPECT_EQ(choose_device("cuda", false, false).kind, DeviceKind::kCuda);
  EXPECT_EQ(choose_device("cpu", true, true).kind, DeviceKind::kCpu);
  EXPECT_EQ(choose_device("cpu", true, false).note, "");
}

}  // namespace
}  // namespace titan::train
