#include "libtrain/job/sample/counter_random.h"

#include <gtest/gtest.h>

#include <set>

namespace titan::train::counter_random_test {
namespace {

TEST(CounterRandom, IsSplitMix64) {
  // The first numbers of the reference implementation with the seed 1234567.
  EXPECT_EQ(random_bits(1234567, 0), 6457827717110365317u);
  EXPECT_EQ(random_bits(1234567, 1), 3203168211198807973u);
  EXPECT_EQ(random_bits(1234567, 2), 9817491932198370423u);
}

TEST(CounterRandom, UnitsFillTheIntervalWithoutItsEnd) {
  double least = 1, most = 0, sum = 0;
  for (std::uint64_t i = 0; i < 10000; ++i) {
    const double unit = random_unit(42, i);
    least = std::min(least, unit);
    most = std::max(most, unit);
    sum += unit;
  }
  EXPECT_GE(least, 0);
  EXPECT_LT(least, 0.001);
  EXPECT_GT(most, 0.999);
  EXPECT_LT(most, 1);
  EXPECT_NEAR(sum / 10000, 0.5, 0.01);
}

TEST(CounterRandom, StreamsDifferBySeedUseAndName) {
  const std::set<std::uint64_t> keys = {stream_key(1, "init", "a"), stream_key(2, "init", "a"),
                                        stream_key(1, "sample", "a"), stream_key(1, "init", "b")};
  EXPECT_EQ(keys.size(), 4u);
}

}  // namespace
}  // namespace titan::train::counter_random_test
