#include "libtrain/start/device_choice.h"

#include <gmock/gmock.h>

namespace titan::train {
namespace {

TEST(DeviceChoice, AutoIsTheCpuAndSaysSoWhereThereIsADriver) {
  EXPECT_EQ(choose_device("auto", false).kind, DeviceKind::kCpu);
  EXPECT_EQ(choose_device("auto", false).note, "") << "a host without GPU is nothing to speak of";
  EXPECT_EQ(choose_device("auto", true).kind, DeviceKind::kCpu);
  EXPECT_THAT(choose_device("auto", true).note, testing::HasSubstr("not yet run on a GPU"));
}

TEST(DeviceChoice, WhatIsNamedIsTaken) {
  EXPECT_EQ(choose_device("cuda", false).kind, DeviceKind::kCuda);
  EXPECT_EQ(choose_device("cpu", true).kind, DeviceKind::kCpu);
  EXPECT_EQ(choose_device("cpu", true).note, "");
}

}  // namespace
}  // namespace titan::train
