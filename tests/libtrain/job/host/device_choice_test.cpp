#include "libtrain/job/host/device_choice.h"

#include <gmock/gmock.h>

namespace titan::train::device_choice_test {
namespace {

using testing::HasSubstr;

TEST(DeviceChoice, AutoIsTheGpusWhereThereIsADriver) {
  EXPECT_EQ(choose_device("auto", {.driver = true, .module = true}).kind, DeviceKind::kCuda);
  EXPECT_EQ(choose_device("auto", {.driver = false, .module = true}).kind, DeviceKind::kCpu);
  EXPECT_EQ(choose_device("auto", {.driver = false, .module = true}).note, "") << "nothing to speak of";
  const DeviceChoice hidden = choose_device("auto", {.driver = true, .hidden = true, .module = true});
  EXPECT_EQ(hidden.kind, DeviceKind::kCpu);
  EXPECT_EQ(hidden.note, "") << "the user has said so";
}

TEST(DeviceChoice, AutoSaysWhyItLeavesADriverAlone) {
  const DeviceChoice without = choose_device("auto", {.driver = true, .module = false});
  EXPECT_EQ(without.kind, DeviceKind::kCpu);
  EXPECT_THAT(without.note, HasSubstr("built without CUDA"));
  GpuFacts found{.driver = 13000, .runtime = 13000, .no_gpu_reason = "no CUDA-capable device is detected"};
  const DeviceChoice none = confirm_device("auto", found);
  EXPECT_EQ(none.kind, DeviceKind::kCpu);
  EXPECT_THAT(none.note, HasSubstr("shows no GPU (no CUDA-capable device is detected)"));
}

TEST(DeviceChoice, AutoDoesNotPassOverGpusThatItCannotUse) {
  EXPECT_EQ(confirm_device("auto", {.driver = 12080, .runtime = 13000}).kind, DeviceKind::kCuda);
  EXPECT_EQ(confirm_device("auto", {.driver = 13000, .runtime = 13000, .gpus = {{}}}).kind, DeviceKind::kCuda);
}

TEST(DeviceChoice, WhatIsNamedIsTaken) {
  EXPECT_EQ(choose_device("cuda", {}).kind, DeviceKind::kCuda);
  EXPECT_EQ(confirm_device("cuda", {.driver = 13000, .runtime = 13000}).kind, DeviceKind::kCuda);
  EXPECT_EQ(choose_device("cpu", {.driver = true, .module = true}).kind, DeviceKind::kCpu);
  EXPECT_EQ(choose_device("cpu", {.driver = true, .module = true}).note, "");
}

}  // namespace
}  // namespace titan::train::device_choice_test
