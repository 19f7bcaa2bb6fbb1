#include "recipe/change/excluded_samples.h"

#include <gmock/gmock.h>

namespace titan::recipe::excluded_samples_test {
namespace {

using ::testing::HasSubstr;
using Ranges = ckpt::SampleRanges;

TEST(ExcludedSamples, AreReadInAnyOrder) {
  EXPECT_EQ(*excluded_samples({"64", " 32-39", "40-47"}), (Ranges{{32, 16}, {64, 1}}));
  EXPECT_EQ(*excluded_samples({}), Ranges{});
  EXPECT_THAT(excluded_samples({"39-32"}).status().message,
              HasSubstr("expected FIRST-LAST or one number, each below 2^62, found \"39-32\""));
}

TEST(ExcludedSamples, WhatTheConfigurationSaysTakesThePlaceOfWhatItSaid) {
  const ckpt::DataPosition stored{.samples = 20, .excluded = {{32, 8}, {64, 8}}};
  EXPECT_EQ(still_excluded(stored, "not set", {}), stored.excluded) << "of a rollback";
  EXPECT_EQ(still_excluded(stored, "\"0-7, 32-39\"", {{0, 8}, {32, 8}}), stored.excluded);
  EXPECT_EQ(still_excluded(stored, "\"0-7, 32-39\"", {{0, 8}}), (Ranges{{64, 8}})) << "taken back";
  EXPECT_EQ(still_excluded(stored, "not set", {{16, 8}}), (Ranges{{20, 4}, {32, 8}, {64, 8}}))
      << "what lies ahead of it";
}

TEST(ExcludedSamples, AreComparedFromThePositionOn) {
  const ckpt::DataPosition stored{.samples = 20};
  EXPECT_TRUE(excludes_same_samples(stored, "\"0-7, 18-39\"", {{20, 20}}));
  EXPECT_TRUE(excludes_same_samples(stored, "not set", {{0, 20}}));
  EXPECT_FALSE(excludes_same_samples(stored, "not set", {{0, 21}}));
  EXPECT_FALSE(excludes_same_samples(stored, "\"20\"", {}));
}

}  // namespace
}  // namespace titan::recipe::excluded_samples_test
