#include "recipe/history/save_interval.h"

#include <cmath>

#include <gtest/gtest.h>

namespace titan::recipe::save_interval_test {
namespace {

TEST(SaveInterval, AgreesWithDaly) {
  // sqrt(2 x 60 x 86400) = 3219.94 is Young's; Daly's terms: x (1 + 0.0186339 / 3 + 0.000347222 / 9) - 60.
  EXPECT_NEAR(best_interval(60, 86400), 3180.06, 0.01);
  EXPECT_NEAR(best_interval(0.5, 3600), std::sqrt(3600) * (1 + std::sqrt(0.5 / 7200) / 3 + 0.5 / 7200 / 9) - 0.5, 1e-9);
}

TEST(SaveInterval, ForCheapSavesItIsYoungs) {
  for (const double save : {1e-3, 1e-2, 0.1})
    EXPECT_NEAR(best_interval(save, 1e6) / std::sqrt(2 * save * 1e6), 1, 1e-3);
}

TEST(SaveInterval, FailuresFasterThanSaves) {
  EXPECT_EQ(best_interval(100, 50), 50);
  EXPECT_EQ(best_interval(100, 10), 10);
}

/// No other interval loses less, within what first order can tell.
TEST(SaveInterval, TheBestLosesLeast) {
  for (const double save : {0.1, 2.0, 60.0})
    for (const double mtbf : {3600.0, 86400.0}) {
      const double best = best_interval(save, mtbf), least = lost_share(best, save, mtbf).sum();
      for (const double factor : {0.2, 0.5, 2.0, 5.0}) EXPECT_LT(least, lost_share(best * factor, save, mtbf).sum());
    }
}

TEST(SaveInterval, SharesOfTime) {
  const LostShare lost = lost_share(90, 10, 1000);
  EXPECT_DOUBLE_EQ(lost.saves, 0.1);
  EXPECT_DOUBLE_EQ(lost.again, 0.055);
  EXPECT_LE(lost_share(1e9, 1, 10).sum(), 1);
}

TEST(SaveInterval, InWholeSteps) {
  EXPECT_EQ(steps_of(10, 3), 3u);
  EXPECT_EQ(steps_of(11, 3), 4u);
  EXPECT_EQ(steps_of(0.1, 3), 1u);
  EXPECT_EQ(steps_of(1, 1e-300), 1'000'000'000'000'000u);
  EXPECT_EQ(steps_of(NAN, 1), 1u);
}

}  // namespace
}  // namespace titan::recipe::save_interval_test
