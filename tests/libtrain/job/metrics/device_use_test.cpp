#include "libtrain/job/metrics/device_use.h"

#include <gtest/gtest.h>

namespace titan::train::device_use_test {
namespace {

TEST(DeviceUse, FindsThePeakInTheKernelsWords) {
  EXPECT_EQ(peak_resident_in("Name:\ta\nVmPeak:\t    9 kB\nVmHWM:\t   2048 kB\nVmRSS:\t 7 kB\n"), 2048u * 1024);
  EXPECT_EQ(peak_resident_in("VmHWM: 1 kB"), 1024u);
  EXPECT_EQ(peak_resident_in("Name:\tVmHWM:\nVmRSS: 7 kB\n"), std::nullopt);
  EXPECT_EQ(peak_resident_in("VmHWM:\t12 pages\n"), std::nullopt);
  EXPECT_EQ(peak_resident_in("VmHWM:"), std::nullopt);
  EXPECT_EQ(peak_resident_in(""), std::nullopt);
}

TEST(DeviceUse, MeasuresThisProcess) {
  const auto bytes = peak_resident_bytes();
  ASSERT_TRUE(bytes);
  EXPECT_GT(*bytes, 1u << 20);
}

TEST(DeviceUse, KnowsPeaksByName) {
  EXPECT_EQ(known_peak_tflops("NVIDIA H100 80GB HBM3"), 989);
  EXPECT_EQ(known_peak_tflops("NVIDIA H100 PCIe"), 756);
  EXPECT_EQ(known_peak_tflops("NVIDIA H100 NVL"), 835);
  EXPECT_EQ(known_peak_tflops("NVIDIA H200"), 989);
  EXPECT_EQ(known_peak_tflops("NVIDIA A100-SXM4-80GB"), 312);
  EXPECT_EQ(known_peak_tflops("NVIDIA B200"), 2250);
  EXPECT_EQ(known_peak_tflops("cpu"), std::nullopt);
}

}  // namespace
}  // namespace titan::train::device_use_test
