#include "recipe/plan/device_figures.h"

#include <gmock/gmock.h>

namespace titan::recipe::device_figures_test {
namespace {

using testing::HasSubstr;

TEST(DeviceFigures, AreThoseOfTheDataSheets) {
  const DeviceFigures h100 = *device_figures("h100");
  EXPECT_EQ(h100.bf16_tflops, 989);
  EXPECT_EQ(h100.nvlink_gb_s, 450) << "900 GB/s in both directions together";
  EXPECT_EQ(h100.nic_gb_s, 50) << "400 Gb/s";
  EXPECT_EQ(h100.memory_bytes, std::uint64_t{79} << 30) << "80 GB are not 80 GiB";
  EXPECT_EQ(device_figures("h200")->memory_bytes, std::uint64_t{139} << 30);
  EXPECT_EQ(device_figures("a100")->bf16_tflops, 312);
  EXPECT_EQ(device_figures("b200")->bf16_tflops, 2250);
}

TEST(DeviceFigures, UnknownNameSaysWhichThereAre) {
  const auto unknown = device_figures("h10");
  ASSERT_FALSE(unknown.ok());
  EXPECT_THAT(unknown.status().message, HasSubstr("a100, b200, h100, h200"));
  EXPECT_THAT(unknown.status().hint, HasSubstr("`h100`"));
}

}  // namespace
}  // namespace titan::recipe::device_figures_test
