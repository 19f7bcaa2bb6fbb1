#include "recipe/history/plot_plan.h"

#include <gtest/gtest.h>

namespace titan::recipe::plot_plan_test {
namespace {

RunCurves run_with(std::vector<Point> loss, std::vector<Point> validation = {}) {
  RunCurves run;
  run.curves[static_cast<std::size_t>(Quantity::kLoss)].points = std::move(loss);
  run.validation = std::move(validation);
  return run;
}

TEST(PlotPlan, AxesHoldAllRunsAndTheirValidation) {
  const Plot plot = plan_plot({run_with({{1, 5}, {10, 3}}), run_with({{20, 4}}, {{30, 7}})}, {.y = {Quantity::kLoss}});
  EXPECT_EQ(plot.panels[0].values.low, 3);
  EXPECT_EQ(plot.panels[0].values.high, 7);
  EXPECT_EQ(plot.x.high, 30);
  EXPECT_EQ(x_axis(plot, 5).low, 0) << "from step 1 on";
}

TEST(PlotPlan, APartIsShownAlone) {
  const Plot plot = plan_plot({run_with({{100, 5}, {120, 3}})}, {.y = {Quantity::kLoss}});
  EXPECT_EQ(x_axis(plot, 5).low, 100);
}

TEST(PlotPlan, StepsAreWhole) {
  for (const double last : {1.0, 2.0, 3.0}) {
    const Plot plot = plan_plot({run_with({{1, 5}, {last, 3}})}, {.y = {Quantity::kLoss}});
    for (const Tick& tick : x_axis(plot, 8).ticks) EXPECT_EQ(tick.label.find('.'), std::string::npos) << tick.label;
  }
}

TEST(PlotPlan, LogarithmicAxesTakePositiveValuesAlone) {
  const Plot plot = plan_plot({run_with({{1, -5}, {10, 0}, {20, 4}, {30, 8}})},
                              {.y = {Quantity::kLoss, Quantity::kLr}, .log_y = true});
  EXPECT_EQ(plot.panels[0].values.low, 4);
  EXPECT_EQ(plot.x.low, 20);
  EXPECT_TRUE(plot.panels[1].values.empty);
  EXPECT_LT(y_axis(plot.panels[1], 3).low, y_axis(plot.panels[1], 3).high);
}

TEST(PlotPlan, RatesBeginAtZero) {
  Plot plot = plan_plot({run_with({{1, 5}, {2, 6}})}, {});
  for (Panel& panel : plot.panels) panel.values = {5, 6, false};
  EXPECT_EQ(y_axis(plot.panels[0], 4).low, 5);
  EXPECT_EQ(y_axis(plot.panels[1], 4).low, 0);
  EXPECT_EQ(y_axis(plot.panels[3], 4).low, 0);
}

}  // namespace
}  // namespace titan::recipe::plot_plan_test
