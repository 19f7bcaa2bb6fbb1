#include "recipe/history/ticks.h"

#include <cmath>

#include <gtest/gtest.h>

namespace titan::recipe::ticks_test {
namespace {

std::string labels(const Axis& axis) {
  std::string text;
  for (const Tick& tick : axis.ticks)
    if (!tick.label.empty()) text += (text.empty() ? "" : " ") + tick.label;
  return text;
}

TEST(Ticks, StepsAreNice) {
  EXPECT_DOUBLE_EQ(nice_step(0, 10, 5), 2);
  EXPECT_DOUBLE_EQ(nice_step(0, 10, 10), 1);
  EXPECT_DOUBLE_EQ(nice_step(0, 10.1, 10), 2);
  EXPECT_DOUBLE_EQ(nice_step(0, 7e-4, 5), 2e-4);
  EXPECT_DOUBLE_EQ(nice_step(2.1, 2.4, 4), 0.1);
  EXPECT_DOUBLE_EQ(nice_step(0, 1e12, 3), 5e11);
  EXPECT_DOUBLE_EQ(nice_step(0, 51, 1), 100);
}

TEST(Ticks, LabelsOfLinearAxes) {
  EXPECT_EQ(labels(make_axis(0, 10, Scale::kLinear, 5, true)), "0 2 4 6 8 10");
  EXPECT_EQ(labels(make_axis(1.72, 5.91, Scale::kLinear, 5, true)), "1 2 3 4 5 6");
  EXPECT_EQ(labels(make_axis(0, 9.7e-4, Scale::kLinear, 2, true)), "0 5e-4 1e-3");
  EXPECT_EQ(labels(make_axis(0, 1.2e-3, Scale::kLinear, 3, true)), "0 5e-4 1e-3 1.5e-3");
  EXPECT_EQ(labels(make_axis(0, 36000, Scale::kLinear, 4, true)), "0 10k 20k 30k 40k");
  EXPECT_EQ(labels(make_axis(0, 3e9, Scale::kLinear, 3, true)), "0 1G 2G 3G");
  EXPECT_EQ(labels(make_axis(2.001, 2.0033, Scale::kLinear, 3, true)), "2.001 2.002 2.003 2.004");
  EXPECT_EQ(labels(make_axis(-3, 3, Scale::kLinear, 3, true)), "-4 -2 0 2 4");
}

TEST(Ticks, AnAxisThatIsNotWidenedKeepsItsEnds) {
  const Axis axis = make_axis(1, 1234, Scale::kLinear, 6, false);
  EXPECT_EQ(axis.low, 1);
  EXPECT_EQ(axis.high, 1234);
  EXPECT_EQ(labels(axis), "500 1000");
}

TEST(Ticks, LabelsOfLogarithmicAxes) {
  EXPECT_EQ(labels(make_axis(1, 1000, Scale::kLog, 5, false)), "1 10 100 1000");
  EXPECT_EQ(labels(make_axis(1.9, 60, Scale::kLog, 6, true)), "1 2 5 10 20 50 100");
  EXPECT_EQ(labels(make_axis(1e-6, 1e3, Scale::kLog, 3, false)), "1e-6 1e-3 1 1000");
  // Less than a decade: even marks say more.
  EXPECT_EQ(labels(make_axis(1.7, 6, Scale::kLog, 5, true)), "2 3 4 5 6");
}

TEST(Ticks, AFlatCurveGetsRoom) {
  for (const Scale scale : {Scale::kLinear, Scale::kLog}) {
    const Axis axis = make_axis(3, 3, scale, 4, true);
    EXPECT_LT(axis.low, 3);
    EXPECT_GT(axis.high, 3);
  }
  const Axis zero = make_axis(0, 0, Scale::kLinear, 2, true);
  EXPECT_LT(zero.low, zero.high);
}

TEST(Ticks, PlacesRunFromZeroToOne) {
  const Axis linear = make_axis(0, 10, Scale::kLinear, 5, true), log = make_axis(1, 100, Scale::kLog, 2, false);
  EXPECT_DOUBLE_EQ(linear.place(2.5), 0.25);
  EXPECT_DOUBLE_EQ(log.place(10), 0.5);
  EXPECT_LT(log.place(0), 0);
  EXPECT_LT(log.place(-4), 0);
}

/// Whatever the range: marks ascend, lie within, have labels that differ, and are few.
TEST(Ticks, AnyRange) {
  for (double low : {-1e9, -2.5, 0.0, 1e-9, 3e-5, 0.7, 1.0, 999.0, 12345.0, 7e11})
    for (double width : {1e-7, 3e-4, 0.02, 1.0, 17.0, 4e5, 6e12})
      for (std::size_t most : {1, 2, 5, 10}) {
        if (width < std::fabs(low) * 1e-9) continue;
        const Axis axis = make_axis(low, low + width, Scale::kLinear, most, true);
        ASSERT_GE(axis.ticks.size(), 2u) << low << " " << width;
        ASSERT_LE(axis.ticks.size(), most + 3) << low << " " << width << " " << most;
        ASSERT_LE(axis.low, low + width * 1e-6);
        ASSERT_GE(axis.high, low + width * (1 - 1e-6));
        for (std::size_t i = 1; i < axis.ticks.size(); ++i) {
          ASSERT_LT(axis.ticks[i - 1].value, axis.ticks[i].value);
          if (width > 1e-4 * std::fabs(low)) {
            ASSERT_NE(axis.ticks[i - 1].label, axis.ticks[i].label) << low << " " << width;
          }
        }
      }
}

}  // namespace
}  // namespace titan::recipe::ticks_test
