#include "libtrain/job/host/staging_room.h"

#include <gtest/gtest.h>

namespace titan::train::staging_room_test {
namespace {

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30, kDefault = kGiB;

TEST(StagingRoom, MemoryIsThatOfTheHostOrOfItsGroup) {
  const char* const host = "MemTotal:       32000000 kB\nMemFree:  1000 kB\nMemAvailable:   2048 kB\nBuffers: 7 kB\n";
  EXPECT_EQ(free_memory(host, "", ""), 2048u << 10);
  EXPECT_EQ(free_memory(host, "max\n", "500\n"), 2048u << 10);
  EXPECT_EQ(free_memory(host, "1000000\n", "400000\n"), 600'000u);
  EXPECT_EQ(free_memory(host, "1000000\n", "1400000\n"), 0u) << "more than it may have";
  EXPECT_EQ(free_memory("MemFree: 12 kB\n", "", ""), 0u);
}

TEST(StagingRoom, OnADeviceAllThatIsOwnedWhereTheHostHasTwiceThat) {
  EXPECT_EQ(staging_room(kDefault, 12 * kGiB, true, 2000 * kGiB, 8), 12 * kGiB);
  EXPECT_EQ(staging_room(kDefault, 12 * kGiB, true, 192 * kGiB, 8), 12 * kGiB);
  EXPECT_EQ(staging_room(kDefault, 12 * kGiB, true, 191 * kGiB, 8), kDefault);
  EXPECT_EQ(staging_room(kDefault, 12 * kGiB, false, 2000 * kGiB, 8), kDefault) << "the CPU copies in its own memory";
}

TEST(StagingRoom, WhatIsConfiguredHoldsAndNothingIsTakenBeyondWhatIsOwned) {
  EXPECT_EQ(staging_room(0, 12 * kGiB, true, 2000 * kGiB, 8), 0u);
  EXPECT_EQ(staging_room(4 * kGiB, 12 * kGiB, true, 2000 * kGiB, 8), 4 * kGiB);
  EXPECT_EQ(staging_room(kDefault, 1000, false, 0, 1), 1000u);
  EXPECT_EQ(staging_room(kDefault, 1000, true, 0, 1), 1000u);
}

}  // namespace
}  // namespace titan::train::staging_room_test
