#include "ckpt/model/sample_range.h"

#include <gtest/gtest.h>

namespace titan::ckpt::sample_range_test {
namespace {

TEST(SampleRange, RangesArePutInOrderAndJoined) {
  EXPECT_EQ(in_order({{20, 4}, {8, 4}, {12, 2}, {10, 1}, {30, 0}}), (SampleRanges{{8, 6}, {20, 4}}));
  EXPECT_TRUE(is_in_order({{8, 6}, {20, 4}}));
  EXPECT_FALSE(is_in_order({{20, 4}, {8, 6}}));
  EXPECT_FALSE(is_in_order({{8, 6}, {14, 4}})) << "they touch";
  EXPECT_FALSE(is_in_order({{8, 0}}));
  EXPECT_TRUE(is_in_order({{0, kMaxSample}}));
  EXPECT_FALSE(is_in_order({{1, kMaxSample}}));
  EXPECT_FALSE(is_in_order({{5, ~std::uint64_t{0}}}));
}

TEST(SampleRange, RangesAreTakenOutOfRanges) {
  EXPECT_EQ(without_ranges({{8, 8}}, {{10, 2}, {15, 9}}), (SampleRanges{{8, 2}, {12, 3}}));
  EXPECT_EQ(without_ranges({{8, 8}}, {{0, 100}}), SampleRanges{});
  EXPECT_EQ(without_ranges({{8, 8}}, {}), (SampleRanges{{8, 8}}));
  EXPECT_EQ(ahead_of({{8, 8}, {32, 8}}, 12), (SampleRanges{{12, 4}, {32, 8}}));
  EXPECT_EQ(ahead_of({{8, 8}, {32, 8}}, 16), (SampleRanges{{32, 8}}));
  EXPECT_EQ(with_ranges({{8, 8}}, {{16, 8}}), (SampleRanges{{8, 16}}));
}

TEST(SampleRange, KeptSamplesAreThoseThatOneByOneCountingFinds) {
  const SampleRanges ranges{{3, 2}, {8, 8}, {17, 1}};
  for (std::uint64_t from = 0; from < 25; ++from) {
    std::uint64_t at = from;
    for (std::uint64_t index = 0; index < 25; ++index, ++at) {
      while (without_ranges({{at, 1}}, ranges).empty()) ++at;
      EXPECT_EQ(kept_sample(ranges, from, index), at) << from << ' ' << index;
    }
  }
  EXPECT_EQ(kept_sample({}, 5, 7), 12u);
}

TEST(SampleRange, AreReadAsTheyArePrinted) {
  EXPECT_EQ(ranges_text({{32, 8}, {64, 1}}), "32-39, 64");
  EXPECT_EQ(ranges_text({}), "");
  EXPECT_EQ(parse_range("32-39"), (SampleRange{32, 8}));
  EXPECT_EQ(parse_range("64"), (SampleRange{64, 1}));
  for (const char* bad : {"", "-", "5-", "-5", "9-8", "a", "1-2-3", "1 - 2", "0-4611686018427387904"})
    EXPECT_FALSE(parse_range(bad)) << bad;
  EXPECT_EQ(parse_range("0-4611686018427387903"), (SampleRange{0, kMaxSample}));
}

}  // namespace
}  // namespace titan::ckpt::sample_range_test
